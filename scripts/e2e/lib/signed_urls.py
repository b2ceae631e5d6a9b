"""Signatures of URLs, made by Python itself, with the secret that tests configure."""

import hashlib
import hmac
import time

SECRET = "correct-horse"


def query(action, stream="one", seconds=60, secret=SECRET, ip="", vhost="__defaultVhost__", name=""):
    expires = int(time.time()) + seconds
    text = f"{action}\n{vhost}/live/{stream}\n{expires}\n{ip}" + (f"\n{name}" if name else "")
    sign = hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()
    return f"expires={expires}{f'&ip={ip}' if ip else ''}{f'&sign_name={name}' if name else ''}&sign={sign}"
