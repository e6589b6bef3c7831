"""Asks an HTTPS origin with one of Python's clients and prints its answer."""
import sys


def urllib(url):
    import urllib.request
    return urllib.request.urlopen(url, timeout=30).read().decode()


def requests(url):
    import requests
    return requests.get(url, timeout=30).text


def httpx(url):
    import httpx
    return httpx.get(url, timeout=30).text


def grpc(target):
    import grpc
    with grpc.secure_channel(target, grpc.ssl_channel_credentials()) as channel:
        call = channel.unary_unary("/doctor.Probe/Answer", lambda b: b, lambda b: b)
        return call(b"hello", timeout=20).decode()


try:
    print({"urllib": urllib, "requests": requests, "httpx": httpx, "grpc": grpc}[sys.argv[1]](sys.argv[2]))
except Exception as err:
    details = getattr(err, "details", None)
    sys.exit(f"{type(err).__name__}: {details() if details else err}")
