//! Tests of the public API that needs no exporter; `tests/all/telemetry.rs` has those of the whole program.

use bub_telemetry::{Sampler, SamplerKind, TraceContext};

const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn a_header_is_read_and_written_as_the_standard_says() {
    let context = TraceContext::parse(HEADER).expect("it is valid");
    assert_eq!(context.trace_id, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
    assert_eq!((context.span_id, context.is_sampled), (0x00f0_67aa_0ba9_02b7, true));
    assert_eq!(context.to_string(), HEADER);
    let unsampled = TraceContext::parse(&HEADER.replace("-01", "-02")).expect("other flags are ignored");
    assert_eq!(unsampled.to_string(), HEADER.replace("-01", "-00"));
    let later = HEADER.replacen("00", "cc", 1) + "-what-comes-later";
    assert_eq!(TraceContext::parse(&later), Some(context), "a later version may have more");
}

#[test]
fn a_header_that_breaks_a_rule_is_as_good_as_none() {
    let zeros = |from: &str| HEADER.replace(from, &"0".repeat(from.len()));
    let wrong = [
        String::new(),
        "00".to_owned(),
        HEADER.to_uppercase(),
        HEADER.replacen("00", "ff", 1),
        HEADER.to_owned() + "-more",
        HEADER.replacen("00", "01", 1) + "more",
        HEADER.replace('-', "_"),
        zeros("4bf92f3577b34da6a3ce929d0e0e4736"),
        zeros("00f067aa0ba902b7"),
        HEADER.replace("4b", "4g"),
        HEADER.replace("4bf9", "+bf9"),
        HEADER.replace("4b", "é"),
        "é".repeat(40),
    ];
    for value in wrong {
        assert_eq!(TraceContext::parse(&value), None, "{value}");
    }
}

#[test]
fn a_share_of_the_traces_is_chosen_by_their_ids() {
    let half = Sampler::parse("traceidratio", 0.5).expect("it has that name");
    assert!(half.records(1, None) && !half.records(u128::from(u64::MAX), None));
    let chosen = (0..1000u128).filter(|n| half.records(n * 0x9e37_79b9_7f4a_7c15, None)).count();
    assert!((400..600).contains(&chosen), "{chosen}");
    assert!(!Sampler { kind: SamplerKind::Ratio(0.0), ..half }.records(0, None));
    assert!(Sampler { kind: SamplerKind::Ratio(1.0), ..half }.records(u128::MAX, None));
}

#[test]
fn a_sampler_follows_the_parent_only_if_its_name_says_so() {
    let sampler = |name| Sampler::parse(name, 1.0).expect("it has that name");
    assert!(sampler("parentbased_always_off").records(1, Some(true)));
    assert!(!sampler("parentbased_always_on").records(1, Some(false)));
    assert!(!sampler("always_off").records(1, Some(true)));
    assert!(sampler("always_on").records(1, Some(false)));
    assert!(Sampler::NAMES.iter().all(|name| Sampler::parse(name, 1.0).is_some()));
    assert_eq!(Sampler::parse("jaeger_remote", 1.0), None);
}
