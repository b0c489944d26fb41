//! The secret by which the processes of a job recognize each other at a rendezvous.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::rank::environment::names;
use crate::system::job_key;

/// The source of the secret of a rendezvous: 32 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// A variable.
    Text(String),
    /// A file that no other user may read.
    File(PathBuf),
}

/// No message contains the secret.
impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

impl SecretSource {
    /// Returns the secret, or the reason why there is none.
    pub(crate) fn read(&self) -> Result<[u8; 16], String> {
        let digits = "32 hexadecimal digits, as `openssl rand -hex 16` prints them";
        let parse = |text: &str| job_key::parse(text.trim());
        match self {
            Self::Text(text) => parse(text).ok_or_else(|| format!("{} has to be {digits}", names::SECRET)),
            Self::File(path) => {
                let wrong = |why: String| format!("{} ({}) {why}", names::SECRET_FILE, path.display());
                let cannot = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
                let metadata = std::fs::metadata(path).map_err(cannot)?;
                if !metadata.is_file() {
                    return Err(wrong("is no regular file".into()));
                }
                if metadata.permissions().mode() & 0o077 != 0 {
                    return Err(wrong("may be read by others: use chmod 600".into()));
                }
                parse(&std::fs::read_to_string(path).map_err(cannot)?).ok_or_else(|| wrong(format!("has to hold {digits}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_32_digits_and_its_file_one_reader() {
        let digits = "00112233445566778899aabbccddeeff";
        let secret = job_key::parse(digits).unwrap();
        assert_eq!(SecretSource::Text(digits.into()).read(), Ok(secret));
        assert!(SecretSource::Text("secret".into()).read().unwrap_err().starts_with("PELAGO_SECRET has to be 32"));
        assert!(!format!("{:?}", SecretSource::Text(digits.into())).contains('0'), "it is in no message");
        let path = std::env::temp_dir().join(format!("pelago-secret-{}", std::process::id()));
        let file = SecretSource::File(path.clone());
        std::fs::write(&path, format!("{digits}\n")).unwrap();
        let allow = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        allow(0o640);
        assert!(file.read().unwrap_err().contains("may be read by others"));
        allow(0o600);
        assert_eq!(file.read(), Ok(secret));
        std::fs::write(&path, "x").unwrap();
        assert!(file.read().unwrap_err().contains("has to hold 32"));
        std::fs::remove_file(&path).unwrap();
        assert!(file.read().unwrap_err().contains("cannot be read"));
        // A pipe without a writer, which would never end.
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        assert!(file.read().unwrap_err().contains("is no regular file"));
        std::fs::remove_file(&path).unwrap();
    }
}
