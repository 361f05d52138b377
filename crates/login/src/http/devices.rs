//! The known devices of an account: list and forget.

use super::service::Service;
use super::session::Full;
use super::wire::Answer;
use crate::problem::Problem;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// A known device.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DeviceShown {
    /// Names the device.
    device: String,
    /// What its owner calls it.
    label: String,
    /// When it became known, in seconds since 1970.
    created: i64,
    /// When it was last used, give or take a day.
    used: i64,
}

/// The known devices of an account.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Devices {
    /// The most recently used first.
    devices: Vec<DeviceShown>,
}

pub(super) async fn list(State(service): State<Arc<Service>>, Full(session): Full) -> Result<Answer<Devices>, Problem> {
    let devices = service.stored("/v1/devices", service.store.devices(session.account).await)?;
    let shown = devices.into_iter().map(|device| DeviceShown {
        device: device.id.to_string(),
        label: device.label,
        created: device.created.0,
        used: device.used.0,
    });
    Ok(Answer(StatusCode::OK, Devices { devices: shown.collect() }))
}

pub(super) async fn forget(
    State(service): State<Arc<Service>>,
    Full(session): Full,
    device: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Problem> {
    let Path(device) = device.map_err(|_| Problem::NoSuchDevice)?;
    let device = device.parse().map_err(|_| Problem::NoSuchDevice)?;
    service.stored("/v1/devices/{device}", service.store.remove_device(session.account, device).await)?;
    Ok(StatusCode::NO_CONTENT)
}
