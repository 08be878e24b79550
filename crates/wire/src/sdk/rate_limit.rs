//! What the provider says about the limits of the account.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateLimitEvent {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub rate_limit_info: RateLimitInfo,
    pub uuid: String,
    pub session_id: String,
}

impl RateLimitEvent {
    pub fn new(rate_limit_info: RateLimitInfo, session_id: String, uuid: String) -> Self {
        Self { kind: "rate_limit_event", rate_limit_info, uuid, session_id }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitInfo {
    /// `allowed`, `allowed_warning` or `rejected`.
    pub status: String,
    /// Seconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<u64>,
    /// Which limit is the nearest, such as `five_hour`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit_type: Option<String>,
    /// The used share of it, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilization: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overage_status: Option<String>,
    /// Seconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overage_resets_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overage_disabled_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_using_overage: Option<bool>,
}
