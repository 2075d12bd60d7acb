//! Gives files to the service on several threads, and prints its answers as JSON. `cargo run -p ptx-examples --bin service -- FILE…`

use ptx_examples::service::Store;

fn main() {
    let store = Store::default();
    std::thread::scope(|scope| {
        for path in std::env::args().skip(1) {
            let store = &store;
            scope.spawn(move || {
                let answer = std::fs::read(&path)
                    .map_err(|error| error.to_string())
                    .and_then(|text| {
                        let answer = store.put(&path, text).map_err(|error| error.to_string())?;
                        serde_json::to_string(&answer).map_err(|error| error.to_string())
                    });
                println!("{path}: {}", answer.unwrap_or_else(|error| error));
            });
        }
    });
}
