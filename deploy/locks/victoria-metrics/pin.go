//go:build pin

package pin

import _ "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics"
