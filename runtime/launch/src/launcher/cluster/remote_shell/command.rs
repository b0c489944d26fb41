//! The remote shell: the command, as the user specifies it, that runs another command on a host.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// A command with `{host}` in it, such as `ssh {host}` or `ip netns exec {host}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteShell(Vec<String>);

/// The command cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteShellError {
    /// A quote is not closed.
    #[error("a quote or a backslash in the remote shell has no end")]
    Open,
    /// The command is empty.
    #[error("the remote shell is empty: it is a command such as 'ssh {{host}}'")]
    Empty,
    /// The command does not contain the host.
    #[error("the remote shell does not say {{host}}, where the name of each host goes: it is a command such as 'ssh {{host}}'")]
    Hostless,
}

const HOST: &str = "{host}";

/// Programs that pass all words of a command to a shell on the host as one text.
const JOINING: [&str; 4] = ["ssh", "slogin", "rsh", "remsh"];

impl Default for RemoteShell {
    fn default() -> Self {
        Self(["ssh", HOST].map(String::from).into())
    }
}

impl fmt::Display for RemoteShell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needs_quotes =
            |word: &str| word.is_empty() || word.contains(|each: char| each.is_whitespace() || "'\"\\".contains(each));
        let text = |word: &String| match needs_quotes(word) {
            true => quoted(word.as_ref()).to_string_lossy().into_owned(),
            false => word.clone(),
        };
        let words: Vec<_> = self.0.iter().map(text).collect();
        f.write_str(&words.join(" "))
    }
}

impl RemoteShell {
    /// Splits a command as a shell would: at blanks, except within quotes; without expansions.
    ///
    /// # Errors
    /// A quote is not closed, or the host is missing.
    pub fn parse(text: &str) -> Result<Self, RemoteShellError> {
        let words = split(text).ok_or(RemoteShellError::Open)?;
        match words.first() {
            None => Err(RemoteShellError::Empty),
            Some(program) if program.is_empty() => Err(RemoteShellError::Empty),
            Some(_) if !words.iter().any(|word| word.contains(HOST)) => Err(RemoteShellError::Hostless),
            Some(_) => Ok(Self(words)),
        }
    }

    /// Returns the words that run `command` on `host`. If a shell on the host splits them again, they are quoted for it.
    pub(crate) fn words(&self, host: &str, command: &[&OsStr]) -> Vec<OsString> {
        let words = self.0.iter().map(|word| word.replace(HOST, host).into());
        let joins = self.joins();
        words.chain(command.iter().map(|word| if joins { quoted(word) } else { word.into() })).collect()
    }

    /// Whether one of the words is a program that joins the command's words with blanks, for a shell on the host.
    fn joins(&self) -> bool {
        let name = |word: &String| Path::new(word).file_name().and_then(OsStr::to_str).map(str::to_owned);
        self.0.iter().filter_map(name).any(|name| JOINING.contains(&&*name))
    }
}

/// Quotes a word for a shell.
fn quoted(word: &OsStr) -> OsString {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:,@%=".contains(byte);
    let bytes = word.as_bytes();
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return word.into();
    }
    let inner = bytes.split(|byte| *byte == b'\'').collect::<Vec<_>>().join(&br"'\''"[..]);
    OsString::from_vec([b"'", &inner[..], b"'"].concat())
}

/// Splits a command into words; `None` if a quote is not closed.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => quote(&mut characters, '\'', word.get_or_insert_default())?,
            '"' => quote(&mut characters, '"', word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(characters.next()?),
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

/// Takes the text up to the closing `mark`; a backslash has a meaning only in double quotes, and only before characters that need it.
fn quote(characters: &mut std::str::Chars<'_>, mark: char, word: &mut String) -> Option<()> {
    loop {
        match characters.next()? {
            character if character == mark => return Some(()),
            '\\' if mark == '"' => {
                let next = characters.next()?;
                if !"\"\\$`".contains(next) {
                    word.push('\\');
                }
                word.push(next);
            }
            character => word.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap()
    }

    #[test]
    fn commands_are_split_as_a_shell_would() {
        assert_eq!(words("ssh {host}"), ["ssh", "{host}"]);
        assert_eq!(words("  ip\tnetns exec  {host} "), ["ip", "netns", "exec", "{host}"]);
        assert_eq!(words(r#"ssh -o 'A B' "{host}"x '' \ y"#), ["ssh", "-o", "A B", "{host}x", "", " y"]);
        assert_eq!(words(r#"'a\b"c' "d\"e\n'f""#), [r#"a\b"c"#, r#"d"e\n'f"#]);
        assert_eq!(words(""), [""; 0]);
        for open in ["'a", "\"a", "\"a\\", "a\\"] {
            assert_eq!(RemoteShell::parse(open), Err(RemoteShellError::Open), "{open}");
        }
    }

    #[test]
    fn a_shell_needs_a_command_and_a_host() {
        assert_eq!(RemoteShell::parse("ssh {host}"), Ok(RemoteShell::default()));
        assert_eq!(RemoteShell::parse(" "), Err(RemoteShellError::Empty));
        assert_eq!(RemoteShell::parse("'' {host}"), Err(RemoteShellError::Empty));
        assert_eq!(RemoteShell::parse("ssh"), Err(RemoteShellError::Hostless));
        let why = RemoteShellError::Hostless.to_string();
        assert!(why.contains("does not say {host}"), "{why}");
    }

    #[test]
    fn a_shell_is_written_as_it_is_read() {
        for text in ["ssh {host}", "srun -u --nodelist={host}", "sh -c 'exec \"$@\"' {host}", "'my shell' {host} 'it'\\''s'"] {
            let shell = RemoteShell::parse(text).unwrap();
            assert_eq!((shell.to_string().as_str(), RemoteShell::parse(&shell.to_string())), (text, Ok(shell)));
        }
    }

    #[test]
    fn the_host_is_put_into_every_word() {
        let shell = RemoteShell::parse("docker exec c-{host} env H={host}:{host}").unwrap();
        let command = ["/bin/pelago".as_ref(), "host".as_ref()];
        assert_eq!(
            shell.words("a", &command),
            ["docker", "exec", "c-a", "env", "H=a:a", "/bin/pelago", "host"].map(OsString::from)
        );
    }

    #[test]
    fn where_a_shell_on_the_host_takes_the_command_apart_it_is_quoted() {
        let command = ["/opt/my tools/it's/pelago".as_ref(), "host".as_ref()];
        let words = |shell: &str| RemoteShell::parse(shell).unwrap().words("a", &command);
        for shell in ["ssh {host}", "/usr/bin/ssh -p 7 {host}", "sshpass ssh {host}"] {
            let words = words(shell);
            assert_eq!(words[words.len() - 2..], [r"'/opt/my tools/it'\''s/pelago'", "host"].map(OsString::from), "{shell}");
        }
        assert_eq!(words("ip netns exec {host}")[4..], ["/opt/my tools/it's/pelago", "host"].map(OsString::from));
    }
}
