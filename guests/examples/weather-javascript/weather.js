// The tool `weather`: asks a weather service, which wants a key in a header.

import { Plugin, context, t } from "bub-guest";

const plugin = new Plugin({
  name: "weather",
  about: "Says how the weather is.",
  // The table `[plugins.weather.config]`.
  config: t.object({
    server: t.string("The weather service, as in `https://api.example.com`."),
    home: t.string("The city that is meant where none is named.").optional(),
  }),
});
export default plugin;

const SERVICE = plugin.http("*", "to ask the weather service; grant the host of `server` alone");
plugin.http("http://*", "the same, where that server is on this machine");
const KEY = plugin.secret("weather", "to say who asks; it goes into a header of the requests, and never to this plugin");

// The days of the forecast, as the service writes them and as the model reads them.
const Days = t.list(t.object({ date: t.string(), sky: t.string(), high: t.number(), low: t.number() }));

plugin.tool({
  name: "weather",
  about: "Say how the weather is in a city, today and in the days that follow.",
  effect: "read",
  readsOutside: true,
  arguments: {
    city: t.string("The name of a city."),
    units: t.choice(["metric", "imperial"], "In degrees Celsius or Fahrenheit.").default("metric"),
    days: t.integer("For how many days.").min(1).max(7).default(1),
  },
  call({ city, units, days }) {
    const request = SERVICE.get(`${plugin.config.server}/forecast`)
      .query("city", city)
      .query("units", units)
      .query("days", days)
      .header("x-api-key", KEY.placeholder());
    const response = context("the weather service", () => request.send());
    return context(`the weather in \`${city}\``, () => response.success().json(Days));
  },
});

export const home = plugin.hook("system-prompt", "to tell the model which city is meant where none is named", () => {
  const { home } = plugin.config;
  return home ? [{ name: "weather", text: `Weather without a city is the weather in ${home}.` }] : [];
});
