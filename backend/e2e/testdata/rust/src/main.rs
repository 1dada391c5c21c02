//! What somebody writes today with the published Rust SDK. Panics when anything is not as expected.

use forevervm_sdk::api::api_types::{ExecResultType, Instruction};
use forevervm_sdk::api::http_api::{CreateMachineRequest, ListMachinesRequest};
use forevervm_sdk::api::protocol::{MessageFromServer, StandardOutputStream};
use forevervm_sdk::api::token::ApiToken;
use forevervm_sdk::client::ForeverVMClient;
use futures_util::StreamExt;
use std::env;
use std::time::Duration;

fn value(v: &str) -> ExecResultType {
    ExecResultType::Value { value: Some(v.into()), data: None }
}

fn code(code: &str, timeout_seconds: i32) -> Instruction {
    Instruction { code: code.into(), timeout_seconds }
}

#[tokio::main]
async fn main() {
    let base = reqwest::Url::parse(&env::var("FOREVERVM_API_BASE").unwrap()).unwrap();
    let token = ApiToken::new(env::var("FOREVERVM_TOKEN").unwrap()).unwrap();
    let client = ForeverVMClient::new(base, token);

    assert!(!client.whoami().await.unwrap().account.is_empty());

    let mut request = CreateMachineRequest::default();
    request.tags.insert("sdk".into(), "rust".into());
    let name = client.create_machine(request).await.unwrap().machine_name;
    let mut filter = ListMachinesRequest::default();
    filter.tags.insert("sdk".into(), "rust".into());
    let listed = client.list_machines(filter).await.unwrap();
    assert!(listed.machines.iter().any(|m| m.name == name));

    let run = client.exec_instruction(&name, code("print(123) or 567", 10)).await.unwrap();
    let result = client.exec_result(&name, run.instruction_seq.unwrap()).await.unwrap();
    assert_eq!(result.result.result, value("567"));

    let run = client
        .exec_instruction(&name, code("for i in range(10): print(i, 'é')\n'done'", 10))
        .await
        .unwrap();
    let mut stream = client.exec_result_stream(&name, run.instruction_seq.unwrap()).await.unwrap();
    let (mut lines, mut done) = (0, false);
    while let Some(message) = stream.next().await {
        match message.unwrap() {
            MessageFromServer::Output { chunk, .. } => {
                assert!(!done, "output after the result");
                assert_eq!(chunk.data, format!("{lines} é"));
                lines += 1;
            }
            MessageFromServer::Result(r) => {
                assert_eq!(r.result.result, value("'done'"));
                done = true;
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    assert!(done && lines == 10);

    // The SDK arms itself only after sending: an answer that comes too soon would hang it, so try often.
    let mut repl = client.repl(&name).await.unwrap();
    for i in 0..50 {
        let handle = tokio::time::timeout(Duration::from_secs(60), repl.exec(&format!("{i} + 1")))
            .await
            .expect("the SDK missed exec_received")
            .unwrap();
        assert_eq!(handle.result().await.unwrap().result, value(&format!("{}", i + 1)));
    }
    let mut handle = repl
        .exec("import sys\nfor i in range(10):\n  print(i)\nprint('low', file=sys.stderr)")
        .await
        .unwrap();
    let (mut out, mut low) = (0, 0); // order is kept within a stream, not between the two
    for _ in 0..11 {
        let chunk = handle.next().await.unwrap();
        if chunk.stream == StandardOutputStream::Stderr {
            low += 1;
        } else {
            assert_eq!(chunk.data, format!("{out}"));
            out += 1;
        }
    }
    assert_eq!((out, low), (10, 1));
    let result = handle.result().await.unwrap();
    assert_eq!(result.result, ExecResultType::Value { value: None, data: None });

    let result = repl.exec("1/0").await.unwrap().result().await.unwrap();
    match result.result {
        ExecResultType::Error { error } => assert!(error.contains("ZeroDivisionError")),
        other => panic!("unexpected {other:?}"),
    }
    println!("fine");
}
