//! The steps of the line protocol, each by the client's own means.

use anyhow::Context;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use dynamodb_lease::{Client, Lease};
use lines::{Failure, Outcome, Steps, allow, span, text};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

#[derive(Default)]
pub struct LeaseSteps {
    client: Mutex<Option<Client>>,
    holds: Mutex<HashMap<String, Lease>>,
    last_hold: AtomicU64,
}

impl Steps for LeaseSteps {
    async fn run(&self, request: &Value) -> Outcome {
        match request["step"].as_str().unwrap_or_default() {
            "open" => self.open(request).await,
            "acquire" => self.acquire(request).await,
            "held" => self.held(request),
            "release" => self.release(request).await,
            "quit" => Ok(json!({})),
            other => Err(Failure::Unsupported(format!("it has nothing for {other}"))),
        }
    }
}

impl LeaseSteps {
    /// Building a client looks at the table: there is no other way to have it checked.
    async fn open(&self, request: &Value) -> Outcome {
        allow(
            request,
            &[
                "endpoint",
                "table",
                "partitionKey",
                "leaseMs",
                "beatMs",
                "pollMs",
            ],
        )?;
        if !matches!(request["partitionKey"].as_str(), None | Some("key")) {
            return Err(Failure::Unsupported("its key is named key".into()));
        }
        let mut builder = Client::builder().table_name(text(request, "table")?);
        if let Some(lease) = span(request, "leaseMs") {
            if lease.subsec_millis() != 0 {
                return Err(Failure::Unsupported("a lease of whole seconds only".into()));
            }
            builder = builder.lease_ttl_seconds(u32::try_from(lease.as_secs())?);
        }
        if let Some(period) = span(request, "beatMs") {
            builder = builder.extend_every(period);
        }
        if let Some(cooldown) = span(request, "pollMs") {
            builder = builder.acquire_cooldown(cooldown);
        }
        let client = builder
            .build_and_check_db(sdk(text(request, "endpoint")?))
            .await?;
        *self.client.lock().unwrap() = Some(client);
        Ok(json!({}))
    }

    async fn acquire(&self, request: &Value) -> Outcome {
        allow(request, &["name", "wait"])?;
        let client = self.client.lock().unwrap().clone().context("not opened")?;
        let name = text(request, "name")?;
        let lease = match &request["wait"] {
            Value::Bool(false) => client.try_acquire(name).await?,
            Value::Number(_) => {
                let wait = span(request, "wait").unwrap_or_default();
                match client.acquire_timeout(name, wait).await {
                    Ok(lease) => Some(lease),
                    Err(error) if is_timeout(&error) => None,
                    Err(error) => return Err(error.into()),
                }
            }
            _ => Some(client.acquire(name).await?),
        };
        let Some(lease) = lease else {
            return Ok(json!({ "granted": false, "because": "held" }));
        };
        let hold = (self.last_hold.fetch_add(1, Ordering::Relaxed) + 1).to_string();
        self.holds.lock().unwrap().insert(hold.clone(), lease);
        Ok(json!({ "granted": true, "hold": hold }))
    }

    fn held(&self, request: &Value) -> Outcome {
        allow(request, &["hold"])?;
        let holds = self.holds.lock().unwrap();
        let lease = holds
            .get(text(request, "hold")?)
            .context("there is no such hold")?;
        Ok(json!({ "held": lease.is_healthy() }))
    }

    async fn release(&self, request: &Value) -> Outcome {
        allow(request, &["hold", "delete", "drop"])?;
        if request["delete"] == false {
            return Err(Failure::Unsupported("it always deletes".into()));
        }
        let hold = text(request, "hold")?;
        let lease = self
            .holds
            .lock()
            .unwrap()
            .remove(hold)
            .context("there is no such hold")?;
        if request["drop"] == true {
            drop(lease);
            // It goes on in the background, and whatever becomes of it is told to nobody.
            return Ok(json!({ "released": null }));
        }
        match lease.release().await {
            Ok(()) => Ok(json!({ "released": true })),
            Err(error) if is_refused(&error) => Ok(json!({ "released": false })),
            Err(error) => Err(error.into()),
        }
    }
}

fn sdk(endpoint: &str) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("local"))
        .credentials_provider(Credentials::new("local", "local", None, None, "driver"))
        // Plain HTTP: no library for TLS has to be built.
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    aws_sdk_dynamodb::Client::from_conf(config)
}

/// The client has no error of its own kind for it: the text is all that tells.
fn is_timeout(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("Could not acquire within")
}

fn is_refused(error: &anyhow::Error) -> bool {
    format!("{error:?}").contains("ConditionalCheckFailed")
}
