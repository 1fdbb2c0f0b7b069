//! Lets another process use object_store, with its commit through DynamoDB: see ../../README.md.

mod steps;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    lines::serve::<steps::ObjectSteps>("object_store").await
}
