//! A name of three words for a conversation's plan, derived from the session id.

/// For example `calm-drifting-heron`.
pub(super) fn plan_name(session_id: &str) -> String {
    let mut hash = fnv(session_id);
    let mut pick = |words: &[&'static str]| {
        let count = words.len() as u64;
        let word = usize::try_from(hash % count).ok().and_then(|at| words.get(at)).copied().unwrap_or("plan");
        hash /= count;
        word
    };
    format!("{}-{}-{}", pick(&ADJECTIVES), pick(&PARTICIPLES), pick(&NOUNS))
}

/// FNV-1a: the name need not be unpredictable.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[rustfmt::skip]
const ADJECTIVES: [&str; 101] = [
    "amber", "ancient", "bold", "brave", "breezy", "bright", "brisk", "calm", "candid", "careful", "clear", "clever",
    "cool", "cosy", "crisp", "curious", "daring", "deep", "eager", "early", "easy", "even", "fair", "fancy", "fast",
    "fine", "firm", "fleet", "fond", "fresh", "gentle", "giant", "glad", "golden", "grand", "green", "handy", "happy",
    "hardy", "hidden", "honest", "humble", "jolly", "keen", "kind", "large", "late", "lean", "light", "lively",
    "lone", "loyal", "lucky", "lunar", "mellow", "merry", "mild", "modest", "neat", "nimble", "noble", "open", "pale",
    "patient", "plain", "polite", "proud", "prime", "quick", "quiet", "rapid", "rare", "ready", "regal", "robust",
    "rosy", "round", "sharp", "shiny", "silent", "silver", "simple", "sleek", "smooth", "snug", "soft", "solar",
    "solid", "spare", "steady", "still", "sturdy", "sunny", "swift", "tidy", "tiny", "vast", "vivid", "warm", "wise",
    "witty",
];

#[rustfmt::skip]
const PARTICIPLES: [&str; 110] = [
    "bending", "blazing", "blooming", "bouncing", "bubbling", "building", "buzzing", "calling", "carving", "chasing",
    "chiming", "circling", "climbing", "coasting", "counting", "crossing", "curling", "dancing", "darting", "diving",
    "drawing", "dreaming", "drifting", "dwelling", "echoing", "fading", "finding", "fishing", "flashing", "floating",
    "flowing", "flying", "folding", "gathering", "gazing", "giving", "gleaming", "gliding", "glowing", "growing",
    "guiding", "hiding", "hiking", "hopping", "humming", "jumping", "juggling", "keeping", "kindling", "landing",
    "laughing", "leading", "leaning", "leaping", "lifting", "listening", "making", "marching", "meeting", "melting",
    "mending", "moving", "musing", "nesting", "painting", "passing", "pacing", "planting", "playing", "pondering",
    "popping", "purring", "racing", "reading", "resting", "riding", "ringing", "rising", "roaming", "rolling",
    "rowing", "running", "sailing", "seeking", "shining", "singing", "sitting", "skating", "skipping", "sliding",
    "smiling", "soaring", "spinning", "sparking", "stirring", "strolling", "swaying", "swimming", "tending",
    "turning", "wading", "waking", "walking", "wandering", "watching", "waving", "weaving", "whirling", "winding",
    "working",
];

#[rustfmt::skip]
const NOUNS: [&str; 118] = [
    "acorn", "alder", "anchor", "apple", "arch", "aspen", "badger", "basin", "bay", "beacon", "beaver", "birch",
    "bison", "bloom", "bridge", "brook", "canyon", "castle", "cedar", "cliff", "cloud", "clover", "comet", "coral",
    "cove", "crane", "creek", "cricket", "crow", "dawn", "delta", "dove", "dune", "eagle", "elm", "ember", "falcon",
    "fern", "field", "finch", "fjord", "flint", "forest", "fox", "garden", "glacier", "grove", "gull", "harbor",
    "hare", "harp", "hazel", "heron", "hill", "island", "ivy", "jay", "juniper", "kite", "lagoon", "lake", "lantern",
    "lark", "leaf", "lily", "lynx", "maple", "marsh", "meadow", "mesa", "moon", "moss", "mountain", "oak", "ocean",
    "orchid", "otter", "owl", "peak", "pebble", "pine", "planet", "plum", "pond", "poppy", "quail", "quartz", "rain",
    "raven", "reed", "reef", "ridge", "river", "robin", "rose", "sage", "sail", "seal", "shore", "sky", "sparrow",
    "spruce", "star", "stone", "storm", "stream", "summit", "swan", "thistle", "tiger", "trail", "tulip", "valley",
    "violet", "wave", "willow", "wolf", "wren",
];
