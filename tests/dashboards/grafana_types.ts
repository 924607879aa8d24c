// What a generated dashboard must be: Grafana's own types, and those that they leave
// open, as the Prometheus and SPARQL datasources and the transformations read them.
import type { Dashboard, DataSourceRef, Panel, RowPanel, VariableModel } from '@grafana/schema';
import type * as bargauge from '@grafana/schema/dist/types/raw/composable/bargauge/panelcfg/x/types.gen';
import type * as heatmap from '@grafana/schema/dist/types/raw/composable/heatmap/panelcfg/x/types.gen';
import type * as stat from '@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import type * as table from '@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen';
import type * as text from '@grafana/schema/dist/types/raw/composable/text/panelcfg/x/types.gen';
import type * as timeseries from '@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';
import type * as xychart from '@grafana/schema/dist/types/raw/composable/xychart/panelcfg/x/types.gen';
import type { FieldColor, FieldConfig } from '@grafana/schema/dist/types/raw/dashboard/x/types.gen';

interface DataLink {
  title: string;
  url: string;
  targetBlank?: boolean;
}

type Property =
  | { id: 'displayName'; value: string }
  | { id: 'unit'; value: string }
  | { id: 'color'; value: FieldColor }
  | { id: 'links'; value: DataLink[] }
  | { id: 'custom.axisLabel'; value: string }
  | { id: 'custom.show'; value: 'lines' };

interface Override {
  matcher: { id: 'byName'; options: string };
  properties: Property[];
}

interface PrometheusTarget {
  refId: string;
  datasource: Required<DataSourceRef>;
  expr: string;
  legendFormat: string;
  range: boolean;
  instant: boolean;
}

interface SparqlTarget {
  refId: string;
  datasource: Required<DataSourceRef>;
  queryText: string;
}

interface Conversion {
  targetField: string;
  destinationType: 'number' | 'string' | 'time' | 'boolean';
}

type Transformation =
  | { id: 'convertFieldType'; options: { conversions: Conversion[]; fields: {} } }
  | {
      id: 'organize';
      options: {
        excludeByName: {};
        includeByName: {};
        indexByName: Record<string, number>;
        renameByName: Record<string, string>;
      };
    }
  | {
      id: 'partitionByValues';
      filter: { id: 'byRefId'; options: string };
      options: { fields: string[]; keepFields: boolean; naming: { asLabels: boolean } };
    };

type Custom<Type> = Omit<FieldConfig, 'custom' | 'links'> & { custom?: Type };

interface Drawn<Name extends string, Options, Field, Target>
  extends Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets' | 'transformations'> {
  type: Name;
  options: Options;
  fieldConfig: { defaults: Custom<Field>; overrides: Override[] };
  targets: Target[];
  transformations?: Transformation[];
}

// One type for each value of a panel's `type`, by which the tests choose.
export type PanelTimeseries = Drawn<
  'timeseries', timeseries.Options, timeseries.FieldConfig, PrometheusTarget
>;
export type PanelHeatmap = Drawn<
  'heatmap', heatmap.Options, heatmap.FieldConfig, PrometheusTarget
>;
export type PanelStat = Drawn<'stat', stat.Options, {}, PrometheusTarget>;
export type PanelBargauge = Drawn<'bargauge', bargauge.Options, {}, PrometheusTarget>;
export type PanelTable = Drawn<'table', table.Options, table.FieldConfig, SparqlTarget>;
export type PanelXychart = Drawn<
  'xychart', xychart.Options, xychart.FieldConfig, SparqlTarget
>;
export interface PanelText
  extends Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> {
  type: 'text';
  options: text.Options;
}
export interface PanelRow extends Omit<RowPanel, 'panels'> {
  panels: Array<{ type: string }>;
}

export interface Generated extends Omit<Dashboard, 'annotations' | 'panels' | 'templating'> {
  annotations: {};
  uid: string;
  title: string;
  panels: Array<{ type: string }>;
  templating: { list: VariableModel[] };
}
