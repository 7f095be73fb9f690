import unittest

from bub_guest import Error
from bub_guest.manifest import manifest
from bub_guest.test import Host, response
from weather import home, plugin, weather

CONFIG = {"server": "https://api.example.com", "home": "Bern"}


class Weather(unittest.TestCase):
    def test_the_service_is_asked_with_the_key_and_its_answer_is_the_result(self) -> None:
        answer = response(200, '[{"date":"1 May","sky":"clear","high":21.5,"low":9}]')
        host = Host(plugin, config=CONFIG, http=lambda request: answer)
        days = host.call(weather, {"city": "La Paz", "units": "imperial"})
        self.assertEqual(days, [{"date": "1 May", "sky": "clear", "high": 21.5, "low": 9.0}])
        request = host.requests[0]
        self.assertEqual(request.url, "https://api.example.com/forecast?city=La%20Paz&units=imperial&days=1")
        self.assertEqual(request.header_value("x-api-key"), "{{secret:weather}}")

    def test_an_error_says_which_city_and_whether_to_try_again(self) -> None:
        host = Host(plugin, config=CONFIG, http=lambda request: response(503))
        with self.assertRaises(Error) as raised:
            host.call(weather, {"city": "Bern"})
        self.assertEqual(raised.exception.kind, "temporary")
        self.assertEqual(raised.exception.message, "the weather in `Bern`: the server answered with status 503")

    def test_the_model_is_told_the_city_at_home(self) -> None:
        host = Host(plugin, config=CONFIG)
        parts = home(host.turn(), host.prompt())
        self.assertEqual(parts[0].text, "Weather without a city is the weather in Bern.")

    def test_the_manifest_asks_for_what_the_code_uses(self) -> None:
        made = manifest(plugin)
        grants = [want["grant"] for want in made["wants"]]
        self.assertEqual(grants, ["hook:system-prompt", "http:*", "http:http://*", "secret:weather"])
        self.assertEqual(made["tools"][0]["name"], "weather")
        self.assertEqual(made["config_schema"]["required"], ["server"])


if __name__ == "__main__":
    unittest.main()
