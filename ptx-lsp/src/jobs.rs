//! Requests that take long are answered by other threads, so that the server answers others meanwhile.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ptx_vm::Progress;
use serde_json::Value;

use crate::message::{Failure, code};
use crate::server::Answer;

/// The most requests that are answered at a time.
const MOST: usize = 4;

/// Tells the thread that serves the client that an answer is there.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// An answer, after the id of its request.
type Answered = (Value, Answer);

/// The requests that other threads answer.
pub(crate) struct Jobs {
    wake: Wake,
    running: Vec<(Value, Arc<Progress>)>,
    answers: (Sender<Answered>, Receiver<Answered>),
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.running).finish()
    }
}

impl Jobs {
    pub(crate) fn new(wake: Wake) -> Self {
        Self {
            wake,
            running: Vec::new(),
            answers: mpsc::channel(),
        }
    }

    /// Answers a request on another thread.
    pub(crate) fn start(
        &mut self,
        id: &Value,
        answer: impl FnOnce(&Progress) -> Answer + Send + 'static,
    ) -> Result<(), Failure> {
        if self.running.len() >= MOST {
            let message = format!("{MOST} kernels are running; wait for one, or cancel it");
            return Err(Failure::new(code::REQUEST_FAILED, message));
        }
        let progress = Arc::new(Progress::default());
        let (own, sender, wake) = (
            Arc::clone(&progress),
            self.answers.0.clone(),
            Arc::clone(&self.wake),
        );
        let request = id.clone();
        let run = move || {
            // The last resort: a mistake in the machine does not end the server.
            let answered = catch_unwind(AssertUnwindSafe(|| answer(&own)));
            let answered = answered.unwrap_or_else(|_| {
                let message = "the machine failed unexpectedly";
                Err(Failure::new(code::REQUEST_FAILED, message))
            });
            if sender.send((request, answered)).is_ok() {
                wake();
            }
        };
        let started = thread::Builder::new().name("kernel".into()).spawn(run);
        started.map_err(|error| Failure::new(code::REQUEST_FAILED, error.to_string()))?;
        self.running.push((id.clone(), progress));
        Ok(())
    }

    /// Ends a request, which is answered with an error.
    pub(crate) fn cancel(&self, id: &Value) {
        let all = self.running.iter().filter(|(of, _)| of == id);
        all.for_each(|(_, progress)| progress.cancel());
    }

    /// The answers that are there.
    pub(crate) fn finished(&mut self) -> Vec<(Value, Answer)> {
        let all: Vec<_> = self.answers.1.try_iter().collect();
        self.running
            .retain(|(id, _)| all.iter().all(|(of, _)| of != id));
        all
    }
}

impl Jobs {
    /// Waits some time for the answers that are not there yet; after that, their requests are cancelled.
    pub(crate) fn end(&mut self, time: Duration) -> Vec<(Value, Answer)> {
        let end = Instant::now() + time;
        let mut all = self.finished();
        while !self.running.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            let Ok((id, answer)) = self.answers.1.recv_timeout(left) else {
                break;
            };
            self.running.retain(|(of, _)| *of != id);
            all.push((id, answer));
        }
        for (id, progress) in self.running.drain(..) {
            progress.cancel();
            let failure = Failure::new(code::REQUEST_CANCELLED, "cancelled");
            all.push((id, Err(failure)));
        }
        all
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.running
            .iter()
            .for_each(|(_, progress)| progress.cancel());
    }
}
