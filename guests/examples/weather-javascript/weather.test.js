import assert from "node:assert/strict";
import { test } from "node:test";
import { manifest } from "bub-guest/manifest";
import { Host, response } from "bub-guest/test";
import plugin, { home } from "./weather.js";

const config = { server: "https://api.example.com", home: "Bern" };

test("the service is asked with the key and its answer is the result", () => {
  const http = () => response(200, '[{"date":"1 May","sky":"clear","high":21.5,"low":9}]');
  const host = new Host(plugin, { config, http });
  const days = host.call("weather", { city: "La Paz", units: "imperial" });
  assert.deepEqual(days, [{ date: "1 May", sky: "clear", high: 21.5, low: 9 }]);
  const [request] = host.requests;
  assert.equal(request.url, "https://api.example.com/forecast?city=La%20Paz&units=imperial&days=1");
  assert.equal(request.headerValue("x-api-key"), "{{secret:weather}}");
});

test("an error says which city and whether to try again", () => {
  const host = new Host(plugin, { config, http: () => response(503) });
  const message = "the weather in `Bern`: the server answered with status 503";
  assert.throws(() => host.call("weather", { city: "Bern" }), { kind: "temporary", message });
});

test("the model is told the city at home", () => {
  const host = new Host(plugin, { config });
  assert.equal(home(host.turn(), host.prompt())[0].text, "Weather without a city is the weather in Bern.");
});

test("the manifest asks for what the code uses", () => {
  const { wants, tools, config_schema } = manifest(plugin);
  assert.deepEqual(
    wants.map(({ grant }) => grant),
    ["hook:system-prompt", "http:*", "http:http://*", "secret:weather"],
  );
  assert.equal(tools[0].name, "weather");
  assert.deepEqual(config_schema.required, ["server"]);
});
