"""Registries of pip, npm and cargo with one package each, and git repositories, on one port of the loopback."""

import hashlib, http.server, io, json, os, subprocess, sys, tarfile, zipfile

ROOT = sys.argv[1]


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def wheel():
    out = io.BytesIO()
    info = "hello_bub-1.0.0.dist-info/"
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("hello_bub.py", "def hello(): return 'hello'\n")
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: hello-bub\nVersion: 1.0.0\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(info + "RECORD", "hello_bub.py,,\n%sMETADATA,,\n%sWHEEL,,\n%sRECORD,,\n" % (info, info, info))
    return out.getvalue()


WHEEL = wheel()
NPM = tar({"package/package.json": '{"name": "hello-bub", "version": "1.0.0"}', "package/index.js": ""})
CRATE = tar({
    "hello-bub-1.0.0/Cargo.toml": '[package]\nname = "hello-bub"\nversion = "1.0.0"\nedition = "2021"\n',
    "hello-bub-1.0.0/src/lib.rs": 'pub fn hello() -> &\'static str { "hello" }\n',
})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def say(self, body, kind="application/octet-stream", status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        path, _, query = self.path.partition("?")
        base = "http://127.0.0.1:%d" % self.server.server_address[1]
        if path.startswith("/git/"):
            return self.git(path[4:], query)
        if path == "/simple/hello-bub/":
            return self.say(b'<a href="/hello_bub-1.0.0-py3-none-any.whl">hello_bub-1.0.0-py3-none-any.whl</a>', "text/html")
        if path.endswith(".whl"):
            return self.say(WHEEL)
        if path == "/hello-bub":
            dist = {"tarball": base + "/hello-bub.tgz", "shasum": hashlib.sha1(NPM).hexdigest()}
            version = {"name": "hello-bub", "version": "1.0.0", "dist": dist}
            about = {"name": "hello-bub", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
            return self.say(json.dumps(about).encode(), "application/json")
        if path == "/hello-bub.tgz":
            return self.say(NPM)
        if path == "/index/config.json":
            return self.say(json.dumps({"dl": base + "/dl"}).encode(), "application/json")
        if path == "/index/he/ll/hello-bub":
            line = {"name": "hello-bub", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
                    "cksum": hashlib.sha256(CRATE).hexdigest()}
            return self.say(json.dumps(line).encode() + b"\n", "text/plain")
        if path == "/dl/hello-bub/1.0.0/download":
            return self.say(CRATE)
        self.say(b"there is no such page\n", "text/plain", 404)

    def git(self, path, query):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        env = dict(os.environ, GIT_PROJECT_ROOT=ROOT, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query,
                   REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("content-type") or "",
                   CONTENT_LENGTH=str(len(body)), REMOTE_USER="a",
                   HTTP_CONTENT_ENCODING=self.headers.get("content-encoding") or "")
        backend = subprocess.check_output(["git", "--exec-path"], text=True).strip() + "/git-http-backend"
        out = subprocess.run([backend], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        fields = [line.split(b": ", 1) for line in head.split(b"\r\n")]
        status = [value for name, value in fields if name.lower() == b"status"]
        self.send_response(int(status[0].split()[0]) if status else 200)
        for name, value in fields:
            if name.lower() != b"status":
                self.send_header(name.decode(), value.decode())
        self.end_headers()
        self.wfile.write(rest)

    do_GET = do_POST = serve

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
