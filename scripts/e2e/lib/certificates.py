"""Self-signed certificates, made by openssl."""

import subprocess


def make(directory, name="server", days=2, subject="localhost"):
    """The paths of NAME.key and NAME.crt; for the name, and for 127.0.0.1."""
    key, certificate = directory / f"{name}.key", directory / f"{name}.crt"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", key, "-out", certificate, "-days", str(days), "-subj", f"/CN={subject}"]
    words += ["-addext", f"subjectAltName=DNS:{subject},IP:127.0.0.1"]
    subprocess.run(words, check=True, capture_output=True)
    return key, certificate
