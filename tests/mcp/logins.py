"""Logins by OAuth 2.1 for the MCP server of the tests: discovery (RFC 9728, RFC 8414), registration (RFC 7591), the
authorization code flow with PKCE (RFC 7636) and rotated refresh tokens. One of many habits is bad."""

import base64
import hashlib
import json
import secrets
import time
import urllib.parse

MIB = 1 << 20


class Logins:
    def __init__(self, habit, lifetime, note):
        self.habit, self.lifetime, self.note = habit, lifetime, note
        self.clients, self.codes, self.refresh, self.access = {}, {}, {}, {}

    def base(self, handler):
        return f"http://127.0.0.1:{handler.server.server_address[1]}"

    def allows(self, authorization):
        kind, _, token = (authorization or "").partition(" ")
        return kind == "Bearer" and self.access.get(token, 0) > time.time()

    def get(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        base = self.base(handler)
        if url.path.startswith("/.well-known/oauth-protected-resource"):
            at = {"login-private": "https://10.1.2.3", "login-plain": "http://example.org"}.get(self.habit, base)
            return self.say(handler, 200, {"resource": base + "/mcp", "authorization_servers": [at], "scopes_supported": ["tools"]})
        if url.path == "/.well-known/oauth-authorization-server":
            if self.habit == "login-flood":
                return self.raw(handler, 200, b'{"issuer": "' + b"x" * (10 * MIB) + b'"}')
            if self.habit == "login-html":
                return self.raw(handler, 200, b"<html>\x1b[2J</html>")
            found = {
                "issuer": base,
                "authorization_endpoint": base + "/authorize",
                "token_endpoint": base + "/token",
                "registration_endpoint": base + "/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
                "authorization_response_iss_parameter_supported": True,
            }
            if self.habit == "login-no-pkce":
                found["code_challenge_methods_supported"] = ["plain"]
            if self.habit == "login-by-hand":
                del found["registration_endpoint"]
            return self.say(handler, 200, found)
        if url.path == "/authorize":
            return self.authorize(handler, dict(urllib.parse.parse_qsl(url.query)), base)
        return False

    def authorize(self, handler, asked, base):
        client = self.clients.get(asked.get("client_id"))
        if self.habit == "login-by-hand" and asked.get("client_id") == "known":
            client = {"redirect_uris": [asked["redirect_uri"]]}
        good = client and asked["redirect_uri"] in client["redirect_uris"] and asked["response_type"] == "code"
        if not good or asked.get("code_challenge_method") != "S256" or asked.get("resource") != base + "/mcp":
            return self.say(handler, 400, {"error": "invalid_request", "asked": asked})
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        answer = {"code": code, "state": asked["state"], "iss": base}
        if self.habit == "login-denied":
            answer = {"error": "access_denied", "error_description": "no\n\x1b[31mway" + "y" * 900, "state": asked["state"]}
        if self.habit == "login-other-issuer":
            answer["iss"] = "https://evil.example"
        handler.send_response(302)
        handler.send_header("location", asked["redirect_uri"] + "?" + urllib.parse.urlencode(answer))
        handler.send_header("content-length", "0")
        handler.end_headers()
        return True

    def post(self, handler, body):
        if handler.path == "/register":
            client = json.loads(body)
            self.note("clients", json.dumps(client, sort_keys=True))
            name = f"client-{len(self.clients) + 1}"
            self.clients[name] = client
            return self.say(handler, 201, {**client, "client_id": name, "token_endpoint_auth_method": "none"})
        if handler.path == "/token":
            return self.token(handler, dict(urllib.parse.parse_qsl(body.decode())))
        return False

    def token(self, handler, asked):
        self.note("tokens", asked.get("grant_type", ""))
        if self.habit == "login-by-hand":
            basic = base64.b64encode(b"known:s3cret-of-the-client").decode()
            if handler.headers.get("authorization") != f"Basic {basic}" and asked.get("client_secret") != "s3cret-of-the-client":
                return self.say(handler, 401, {"error": "invalid_client"})
        if asked.get("grant_type") == "authorization_code":
            begun = self.codes.pop(asked.get("code"), None)
            digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if not begun or begun["code_challenge"] != challenge or begun["redirect_uri"] != asked.get("redirect_uri"):
                return self.say(handler, 400, {"error": "invalid_grant"})
        elif not self.refresh.pop(asked.get("refresh_token"), None) or self.habit == "login-ends":
            return self.say(handler, 400, {"error": "invalid_grant", "error_description": "taken back"})
        access, refresh = "access-" + secrets.token_urlsafe(16), "refresh-" + secrets.token_urlsafe(16)
        self.access[access] = time.time() + self.lifetime
        self.refresh[refresh] = True
        self.note("issued", f"{access} {refresh}")
        return self.say(handler, 200, {"access_token": access, "token_type": "Bearer", "expires_in": self.lifetime, "refresh_token": refresh})

    def say(self, handler, status, value):
        return self.raw(handler, status, json.dumps(value).encode())

    def raw(self, handler, status, body):
        handler.whole(status, body)
        return True
