package plugin

import (
	"testing"

	"bubplugin/sdk/fail"
)

type fake struct {
	status  int
	body    string
	address string
	headers map[string]string
}

func (f *fake) Send(_, address string, headers map[string]string, _ []byte) (int, []byte, error) {
	f.address, f.headers = address, headers
	return f.status, []byte(f.body), nil
}

var settings = Settings{Server: "https://api.example.com", Home: "Bern"}

func TestTheServiceIsAskedWithTheKeyAndItsAnswerIsTheResult(t *testing.T) {
	service := &fake{status: 200, body: `[{"date":"1 May","sky":"clear","high":21.5,"low":9}]`}
	days, err := Weather(service, settings, "{{secret:weather}}", `{"city":"La Paz","units":"imperial"}`)
	if err != nil || len(days) != 1 || days[0] != (Day{"1 May", "clear", 21.5, 9}) {
		t.Fatalf("%v, %v", days, err)
	}
	if service.address != "https://api.example.com/forecast?city=La%20Paz&units=imperial&days=1" {
		t.Error(service.address)
	}
	if service.headers["x-api-key"] != "{{secret:weather}}" {
		t.Error(service.headers)
	}
}

func TestAnErrorSaysWhichCityAndWhetherToTryAgain(t *testing.T) {
	_, err := Weather(&fake{status: 503}, settings, "", `{"city":"Bern"}`)
	if fail.KindOf(err) != fail.Temporary || err.Error() != "the weather in `Bern`: the server answered with status 503" {
		t.Error(err)
	}
}

func TestTheModelIsToldTheCityAtHome(t *testing.T) {
	if rule := Rule(settings); rule != "Weather without a city is the weather in Bern." {
		t.Error(rule)
	}
}
