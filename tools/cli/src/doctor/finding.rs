//! One result of a check, as text and as JSON.

use std::fmt;

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// Name of the check.
    pub(super) name: &'static str,
    pub(super) state: State,
    /// Observed state.
    pub(super) found: String,
    /// Consequence of the deficiency; it and `remedy` are empty if there is none.
    pub(super) cost: String,
    pub(super) remedy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Good,
    /// Jobs work, but slower or with fewer features.
    Costs,
    /// Some jobs cannot run.
    Fails,
    /// The check cannot be made here.
    Unknown,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Costs => "costs",
            Self::Fails => "fails",
            Self::Unknown => "unknown",
        }
    }
}

impl Finding {
    pub(super) fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, state: State::Good, found: found.into(), cost: String::new(), remedy: String::new() }
    }

    pub(super) fn unknown(name: &'static str) -> Self {
        Self { state: State::Unknown, ..Self::good(name, "cannot be seen on this machine") }
    }

    pub(super) fn costs(
        name: &'static str,
        found: impl Into<String>,
        cost: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { name, state: State::Costs, found: found.into(), cost: cost.into(), remedy: remedy.into() }
    }

    pub(super) fn fails(
        name: &'static str,
        found: impl Into<String>,
        cost: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { state: State::Fails, ..Self::costs(name, found, cost, remedy) }
    }

    /// Returns one line of JSON without blanks between its parts.
    pub(super) fn to_json(&self) -> String {
        serde_json::json!({
            "check": self.name,
            "state": self.state.name(),
            "found": self.found,
            "cost": self.cost,
            "remedy": self.remedy,
        })
        .to_string()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:8}{:22}{}", self.state.name(), self.name, self.found)?;
        for (word, text) in [("cost:", &self.cost), ("remedy:", &self.remedy)] {
            if !text.is_empty() {
                writeln!(f, "{:30}{word:8}{text}", "")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_told_as_text_and_as_json() {
        let finding = Finding::costs("clock", "hpet", "a \"slow\" clock", "use tsc");
        let text = "costs   clock                 hpet\n                              cost:   a \"slow\" clock\n                              remedy: use tsc\n";
        assert_eq!(finding.to_string(), text);
        let json: serde_json::Value = serde_json::from_str(&finding.to_json()).unwrap();
        assert_eq!((&json["state"], &json["cost"]), (&"costs".into(), &"a \"slow\" clock".into()));
    }
}
