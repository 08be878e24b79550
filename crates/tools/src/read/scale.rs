//! Scales an image down: a triangle filter as wide as the pixels it merges, first along rows, then along columns.
//! Supports one pixel layout and only downscaling, because general libraries cost half a megabyte of code.

use image::RgbaImage;

/// Weights are fixed-point numbers with this many fractional bits.
const FIXED_POINT: u32 = 14;

/// Scales down to `width` × `height`. Colours are weighted by their opacity, so that the colour of transparent
/// pixels does not bleed into the edges.
pub(super) fn down(picture: &RgbaImage, width: u32, height: u32) -> RgbaImage {
    let premultiplied = weighted(picture.clone());
    let narrow = rows(&premultiplied, width);
    let small = image::imageops::rotate90(&rows(&image::imageops::rotate270(&narrow), height));
    unweighted(small)
}

/// The source pixels of one target pixel, and their weights.
struct PixelWeights {
    first: usize,
    weights: Vec<i32>,
}

fn pixel_weights(from: u32, to: u32) -> Vec<PixelWeights> {
    let ratio = f64::from(from) / f64::from(to);
    let reach = ratio.max(1.0);
    (0..to).map(|target| weights_at((f64::from(target) + 0.5) * ratio, reach, from)).collect()
}

fn weights_at(centre: f64, reach: f64, from: u32) -> PixelWeights {
    let first = (centre - reach).floor().max(0.0) as usize;
    let last = ((centre + reach).ceil() as usize).min(from as usize);
    let raw: Vec<f64> = (first..last).map(|at| (1.0 - ((at as f64 + 0.5 - centre) / reach).abs()).max(0.0)).collect();
    let sum: f64 = raw.iter().sum();
    let one = f64::from(1u32 << FIXED_POINT);
    let mut weights: Vec<i32> = raw.iter().map(|weight| (weight / sum * one).round() as i32).collect();
    // The weights must sum to one, or rounding would change the brightness; the middle weight gets the difference.
    let missing = (1 << FIXED_POINT) - weights.iter().sum::<i32>();
    let middle = weights.len() / 2;
    weights[middle] += missing;
    PixelWeights { first, weights }
}

fn rows(picture: &RgbaImage, width: u32) -> RgbaImage {
    let taps = pixel_weights(picture.width(), width);
    let mut to = RgbaImage::new(width, picture.height());
    let (from_row, to_row) = (picture.width() as usize * 4, width as usize * 4);
    for (source, target) in picture.as_raw().chunks_exact(from_row).zip(to.chunks_exact_mut(to_row)) {
        for (tap, pixel) in taps.iter().zip(target.chunks_exact_mut(4)) {
            pixel.copy_from_slice(&merged(&source[tap.first * 4..], &tap.weights));
        }
    }
    to
}

fn merged(source: &[u8], weights: &[i32]) -> [u8; 4] {
    let mut sums = [1i32 << (FIXED_POINT - 1); 4];
    for (pixel, weight) in source.chunks_exact(4).zip(weights) {
        for (sum, channel) in sums.iter_mut().zip(pixel) {
            *sum += i32::from(*channel) * weight;
        }
    }
    sums.map(|sum| (sum >> FIXED_POINT).clamp(0, 255) as u8)
}

fn weighted(mut picture: RgbaImage) -> RgbaImage {
    for pixel in picture.pixels_mut().filter(|pixel| pixel.0[3] != 255) {
        let alpha = u32::from(pixel.0[3]);
        for channel in &mut pixel.0[..3] {
            *channel = ((u32::from(*channel) * alpha + 127) / 255) as u8;
        }
    }
    picture
}

fn unweighted(mut picture: RgbaImage) -> RgbaImage {
    for pixel in picture.pixels_mut().filter(|pixel| !matches!(pixel.0[3], 0 | 255)) {
        let alpha = u32::from(pixel.0[3]);
        for channel in &mut pixel.0[..3] {
            *channel = ((u32::from(*channel) * 255 + alpha / 2) / alpha).min(255) as u8;
        }
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgba;

    #[test]
    fn a_plain_picture_stays_plain() {
        for (from, to) in [((300, 200), (171, 114)), ((2001, 1), (2000, 1)), ((7, 4999), (3, 2000))] {
            let picture = RgbaImage::from_pixel(from.0, from.1, Rgba([10, 200, 77, 255]));
            let small = down(&picture, to.0, to.1);
            assert_eq!(small.dimensions(), to);
            assert!(small.pixels().all(|p| *p == Rgba([10, 200, 77, 255])));
        }
    }

    #[test]
    fn the_picture_is_neither_turned_nor_mirrored() {
        let picture =
            RgbaImage::from_fn(400, 300, |x, y| Rgba([u8::from(x >= 200) * 255, u8::from(y >= 150) * 255, 0, 255]));
        let small = down(&picture, 40, 30);
        let corner = |x, y| small.get_pixel(x, y).0;
        assert_eq!(corner(1, 1), [0, 0, 0, 255]);
        assert_eq!(corner(38, 1), [255, 0, 0, 255]);
        assert_eq!(corner(1, 28), [0, 255, 0, 255]);
        assert_eq!(corner(38, 28), [255, 255, 0, 255]);
    }

    #[test]
    fn fine_lines_become_grey_not_gone() {
        let picture = RgbaImage::from_fn(4000, 10, |x, _| {
            let grey = u8::from(x % 2 == 0) * 255;
            Rgba([grey, grey, grey, 255])
        });
        assert!(down(&picture, 1000, 3).pixels().all(|p| p.0[0].abs_diff(127) < 12));
    }

    #[test]
    fn the_colour_of_what_cannot_be_seen_does_not_show() {
        let picture =
            RgbaImage::from_fn(400, 4, |x, _| if x % 2 == 0 { Rgba([255, 0, 0, 0]) } else { Rgba([0, 0, 255, 255]) });
        let small = down(&picture, 100, 1);
        assert!(
            small.pixels().all(|p| p.0[0] < 4 && p.0[2] > 250 && p.0[3].abs_diff(127) < 12),
            "{:?}",
            small.get_pixel(50, 0)
        );
    }
}
