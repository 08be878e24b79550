//! What the user, the project and the administrator declared.
