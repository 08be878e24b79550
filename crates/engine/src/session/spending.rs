//! Weighs what the next request costs before it is sent: a large prompt that is not in the provider's cache.

use super::LiveSession;
use super::choice::ChoiceQuestion;
use crate::turn_state::TurnState;
use model::catalog;
use session_parts::compaction_policy::OverflowRelief;
use wire::counting::thousands;
use wire::usage::Usage;

/// In US dollars.
const DEFAULT_WARNING: f64 = 1.0;
/// About how long a summary is, in tokens.
const SUMMARY_TOKENS: u64 = 4_000;

/// What happens to a request that costs much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PriceChoice {
    Send,
    Compact,
    Cancel,
}

/// What a request would cost that is not in the cache.
struct ColdPrice {
    tokens: u64,
    usd: f64,
    /// Summarising first, and then going on.
    compact_usd: f64,
    why: String,
}

impl ColdPrice {
    fn text(&self) -> String {
        format!(
            "The next request sends {} tokens that are not cached, for about ${:.2}: {}.",
            thousands(self.tokens),
            self.usd,
            self.why
        )
    }
}

impl LiveSession {
    /// Asks the person before an expensive request of a turn, once; elsewhere the result carries a warning.
    pub(crate) async fn weigh_price(&mut self, turn: &mut TurnState) -> PriceChoice {
        if self.io.output.host.agent_id().is_some() || std::mem::replace(&mut turn.is_price_weighed, true) {
            return PriceChoice::Send;
        }
        if std::mem::take(&mut self.start.is_price_accepted) {
            return PriceChoice::Send;
        }
        let Some(price) = self.cold_price() else { return PriceChoice::Send };
        if !self.has_person() {
            tracing::warn!("{}", price.text());
            turn.warnings.push(price.text());
            return PriceChoice::Send;
        }
        let mut answers = vec![("Continue".to_owned(), format!("Send it, for about ${:.2}", price.usd))];
        if self.context.relief() == OverflowRelief::Compact {
            let about = format!("Summarise the conversation first, for about ${:.2} in all", price.compact_usd);
            answers.push(("Compact first".to_owned(), about));
        }
        answers.push(("Cancel".to_owned(), "Send nothing".to_owned()));
        let last = answers.len() - 1;
        let asked = ChoiceQuestion { header: "Cost", question: format!("{} Send it?", price.text()), answers };
        match self.choose(&asked, &turn.token).await {
            Some(0) => PriceChoice::Send,
            Some(at) if at < last => PriceChoice::Compact,
            Some(_) | None => PriceChoice::Cancel,
        }
    }

    /// `None` when the next request costs less than what is warned about.
    fn cold_price(&mut self) -> Option<ColdPrice> {
        let warning = self.io.rules.watch.loaded.settings.cost_warn_usd.unwrap_or(DEFAULT_WARNING);
        let tokens = self.context.tokens();
        // Most requests are too small to cost so much.
        if self.uncached_usd(tokens)? <= warning {
            return None;
        }
        let request = self.context.summary_request("", 0).ok()?;
        let place = (self.io.provider.connection.base_url(), sys::clock::now_ms());
        let tokens = tokens.saturating_sub(self.context.cache.expected(&request, place, tokens));
        let usd = self.uncached_usd(tokens).filter(|usd| *usd > warning)?;
        let why = self.context.cache.cold_reason(&request, place);
        let summary = Usage { output_tokens: SUMMARY_TOKENS, ..Usage::default() };
        let summary_usd = catalog::cost(&summary, &self.context.facts()).unwrap_or(0.0);
        let compact_usd = usd + summary_usd + self.uncached_usd(SUMMARY_TOKENS + self.context.system_tokens())?;
        let why = why.unwrap_or_else(|| "nothing of it was sent before".to_owned());
        Some(ColdPrice { tokens, usd, compact_usd, why })
    }

    /// `None` when the model has no known price.
    fn uncached_usd(&self, tokens: u64) -> Option<f64> {
        let facts = self.context.facts();
        match self.context.cache_ttl() {
            Some(_) => self.context.cache_cost_of(self.context.model(), tokens).1,
            None => catalog::cost(&Usage { input_tokens: tokens, ..Usage::default() }, &facts),
        }
    }
}
