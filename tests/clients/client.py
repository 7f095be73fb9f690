"""The official client of Python against `bub-wasm serve`: BASE, TOKEN."""

import base64
import os

import openai

client = openai.OpenAI(base_url=os.environ["BASE"] + "/v1", api_key=os.environ["TOKEN"])

names = [model.id for model in client.models.list()]
assert names[:2] == ["bub", "openai:fake-model"], names
assert client.models.retrieve("bub").id == "bub"


def say(content, **more):
    return client.chat.completions.create(model="bub", messages=[{"role": "user", "content": content}], **more)


answer = say("hello", user="python")
assert answer.choices[0].message.content == "you said: hello", answer
assert answer.choices[0].finish_reason == "stop", answer
assert answer.usage.prompt_tokens == 7, answer

again = say("and again", extra_headers={"X-Session-Id": "http:python"})
assert again.choices[0].message.content == "you said: and again", again

stream = say("piece by piece", stream=True, stream_options={"include_usage": True})
chunks = list(stream)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
assert text == "you said: piece by piece", text
assert chunks[-1].usage.prompt_tokens == 7, chunks[-1]

tool = say("use the tool", stream=True)
text = "".join(chunk.choices[0].delta.content or "" for chunk in tool)
assert text == "the word is heron", text
assert say("use the tool").choices[0].message.content == "the word is heron"

pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
assert base64.b64decode(pixel)
picture = say([
    {"type": "text", "text": "a picture"},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{pixel}"}},
])
assert picture.choices[0].message.content == "you see a picture", picture


def refused(error, **more):
    try:
        say("hi", **more)
    except error as refusal:
        return refusal
    raise AssertionError(f"no {error}")


tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
assert refused(openai.BadRequestError, tools=tools).param == "tools"
assert refused(openai.NotFoundError, extra_body={"model": "of-nobody"}).code == "model_not_found"
try:
    openai.OpenAI(base_url=os.environ["BASE"] + "/v1", api_key="wrong").models.list()
    raise AssertionError("a wrong token is taken")
except openai.AuthenticationError as refusal:
    assert refusal.status_code == 401
try:
    say("fail")
    raise AssertionError("the turn failed")
except openai.InternalServerError as refusal:
    assert "cross" in str(refusal), refusal
try:
    list(say("fail", stream=True))
    raise AssertionError("the turn failed")
except openai.APIError as refusal:
    assert "cross" in str(refusal), refusal
print("python is content")
