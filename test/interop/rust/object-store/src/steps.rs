//! The steps of the line protocol about objects, each by the crate's own means.

// The crate itself says that the commit through DynamoDB will go.
#![allow(deprecated)]

use anyhow::Context;
use lines::{Failure, Outcome, Steps, allow, text};
use object_store::{
    Error, ObjectStore, PutMode, PutOptions, PutPayload, UpdateVersion,
    aws::{AmazonS3, AmazonS3Builder, DynamoCommit, S3ConditionalPut, S3CopyIfNotExists},
    path::Path,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

#[derive(Default)]
pub struct ObjectSteps {
    store: Mutex<Option<Arc<AmazonS3>>>,
}

impl Steps for ObjectSteps {
    async fn run(&self, request: &Value) -> Outcome {
        match request["step"].as_str().unwrap_or_default() {
            "open" => self.open(request),
            "put" => self.put(request).await,
            "copy" => self.copy(request).await,
            "increment" => self.increment(request).await,
            "quit" => Ok(json!({})),
            other => Err(Failure::Unsupported(format!("it has nothing for {other}"))),
        }
    }
}

impl ObjectSteps {
    /// One endpoint for objects and records: the crate has no other way.
    fn open(&self, request: &Value) -> Outcome {
        allow(
            request,
            &["endpoint", "bucket", "table", "timeoutMs", "accessKey"],
        )?;
        let mut commit = DynamoCommit::new(text(request, "table")?.to_owned());
        if let Some(timeout) = request["timeoutMs"].as_u64() {
            commit = commit.with_timeout(timeout);
        }
        let key = text(request, "accessKey")?;
        let store = AmazonS3Builder::new()
            .with_endpoint(text(request, "endpoint")?)
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_bucket_name(text(request, "bucket")?)
            .with_access_key_id(key)
            .with_secret_access_key(key)
            .with_conditional_put(S3ConditionalPut::Dynamo(commit.clone()))
            .with_copy_if_not_exists(S3CopyIfNotExists::Dynamo(commit))
            .build()?;
        *self.store.lock().unwrap() = Some(Arc::new(store));
        Ok(json!({}))
    }

    fn opened(&self) -> anyhow::Result<Arc<AmazonS3>> {
        self.store.lock().unwrap().clone().context("not opened")
    }

    /// Creates, or with an ETag replaces.
    async fn put(&self, request: &Value) -> Outcome {
        allow(request, &["key", "body", "etag"])?;
        let mode = match request["etag"].as_str() {
            Some(etag) => update_of(etag.to_owned()),
            None => PutMode::Create,
        };
        let body = text(request, "body")?.to_owned();
        let put = put(&*self.opened()?, text(request, "key")?, mode, body).await;
        told(put.map(|etag| json!({ "committed": true, "etag": etag })))
    }

    async fn copy(&self, request: &Value) -> Outcome {
        allow(request, &["from", "to"])?;
        let (from, to) = (text(request, "from")?, text(request, "to")?);
        let copied = self
            .opened()?
            .copy_if_not_exists(&Path::from(from), &Path::from(to))
            .await;
        told(copied.map(|()| json!({ "committed": true })))
    }

    /// So many increments, in turn over the keys.
    async fn increment(&self, request: &Value) -> Outcome {
        allow(request, &["times", "keys"])?;
        let times = request["times"].as_u64().context("times is missing")?;
        let keys: Vec<&str> = request["keys"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let store = self.opened()?;
        for key in keys.iter().cycle().take(usize::try_from(times)?) {
            increment(&store, key).await?;
        }
        Ok(json!({ "incremented": times }))
    }
}

/// That somebody else was faster is an answer; everything else is a failure of the step.
fn told(result: Result<Value, Error>) -> Outcome {
    let because = match &result {
        Err(Error::AlreadyExists { .. }) => "already-exists",
        Err(Error::Precondition { .. }) => "precondition",
        Err(Error::NotFound { .. }) => "not-found",
        _ => return Ok(result?),
    };
    Ok(json!({ "committed": false, "because": because }))
}

fn update_of(etag: String) -> PutMode {
    PutMode::Update(UpdateVersion {
        e_tag: Some(etag),
        version: None,
    })
}

async fn put(store: &AmazonS3, key: &str, mode: PutMode, body: String) -> Result<String, Error> {
    let options = PutOptions {
        mode,
        ..Default::default()
    };
    let path = Path::from(key);
    let result = store
        .put_opts(&path, PutPayload::from(body), options)
        .await?;
    Ok(result.e_tag.unwrap_or_default())
}

/// Reads, adds one, and commits, until that has succeeded once: the loop of the crate's own tests.
async fn increment(store: &AmazonS3, key: &str) -> anyhow::Result<()> {
    loop {
        let (mode, next) = match store.get(&Path::from(key)).await {
            Ok(found) => {
                let etag = found.meta.e_tag.clone().context("no ETag")?;
                let bytes = found.bytes().await?;
                let count: u64 = std::str::from_utf8(&bytes)?.parse()?;
                (update_of(etag), count + 1)
            }
            Err(Error::NotFound { .. }) => (PutMode::Create, 1),
            Err(error) => return Err(error.into()),
        };
        match put(store, key, mode, next.to_string()).await {
            Ok(_) => return Ok(()),
            Err(Error::Precondition { .. } | Error::AlreadyExists { .. }) => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}
