// Package plugin is the tool `weather`: it asks a weather service, which wants a key in a header.
package plugin

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"bubplugin/sdk/fail"
	"bubplugin/sdk/read"
)

// Settings is the table `[plugins.weather.config]`.
type Settings struct {
	Server string `json:"server"`
	Home   string `json:"home"`
}

// Schema describes what the tool is asked.
const Schema = `{
  "type": "object",
  "properties": {
    "city": { "type": "string", "description": "The name of a city." },
    "units": { "type": "string", "enum": ["metric", "imperial"], "description": "In degrees Celsius or Fahrenheit.", "default": "metric" },
    "days": { "type": "integer", "description": "For how many days.", "minimum": 1, "maximum": 7, "default": 1 }
  },
  "required": ["city"],
  "additionalProperties": false
}`

// Asked is what the tool is asked.
type Asked struct {
	City  string `json:"city"`
	Units string `json:"units"`
	Days  int    `json:"days"`
}

// Day of the forecast, as the service writes it and as the model reads it.
type Day struct {
	Date string  `json:"date"`
	Sky  string  `json:"sky"`
	High float64 `json:"high"`
	Low  float64 `json:"low"`
}

// Client sends requests.
type Client interface {
	Send(method, address string, headers map[string]string, body []byte) (int, []byte, error)
}

// Weather asks the service. The key goes into a header.
func Weather(client Client, settings Settings, key, arguments string) ([]Day, error) {
	asked := Asked{Units: "metric", Days: 1}
	if err := read.JSON([]byte(arguments), &asked); err != nil {
		return nil, err
	}
	query := fmt.Sprintf("city=%s&units=%s&days=%s", url.PathEscape(asked.City), asked.Units, strconv.Itoa(asked.Days))
	headers := map[string]string{"x-api-key": key}
	status, body, err := client.Send("GET", settings.Server+"/forecast?"+query, headers, nil)
	if err != nil {
		return nil, fail.Context("the weather service", err)
	}
	if err := fail.Status(status); err != nil {
		return nil, fail.Context(fmt.Sprintf("the weather in `%s`", asked.City), err)
	}
	days := []Day{}
	if err := json.Unmarshal(body, &days); err != nil {
		return nil, fail.New(fail.Unknown, "the weather service: %s", err)
	}
	return days, nil
}

// Rule is what the model is told of the city at home.
func Rule(settings Settings) string {
	if settings.Home == "" {
		return ""
	}
	return fmt.Sprintf("Weather without a city is the weather in %s.", settings.Home)
}
