/**
 * ops/alerts.yaml as Prometheus runs it: each rule fires when it should, and not when all is well or getting
 * better.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { skipWithout } from '../support/installed.ts'
import { makeFolder } from '../support/process.ts'

const rulesFile = resolve('ops/alerts.yaml')

interface Rule {
  readonly alert: string
  readonly labels: Record<string, string>
  readonly annotations: Record<string, string>
}

const [{ rules }] = (parse(readFileSync(rulesFile, 'utf8')) as { groups: [{ rules: Rule[] }] }).groups

/** Series by the minute, in promtool's notation. */
type Series = Readonly<Record<string, string>>

interface Case {
  /** When it is looked at. */
  readonly at: string
  readonly fires: Series
  /** Labels of the one alert, beside the rule's own: it fires once, however many nodes tell the same. */
  readonly labels?: Record<string, string>
  readonly stays: Series
}

const onBoth = (name: string, values: string, labels = ''): Series => ({
  [`${name}{${labels}instance="one"}`]: values,
  [`${name}{${labels}instance="two"}`]: values,
})

const requests = 'countersign_http_requests_total{status='
const disabled = (values: string) => onBoth('countersign_webhooks', values, 'condition="disabled",')
const exhausted = 'countersign_exhausted_deliveries'
const connections = 'countersign_database_connections{instance="one",state="waiting",pool='
const lag = 'countersign_nodejs_eventloop_lag_p99_seconds{instance="one"}'

const cases: Readonly<Record<string, Case>> = {
  CountersignNodeAway: {
    at: '2m',
    fires: { 'up{job="countersign",instance="one"}': '0x10' },
    labels: { job: 'countersign', instance: 'one' },
    stays: { 'up{job="countersign",instance="one"}': '1x10', 'up{job="other",instance="one"}': '0x10' },
  },
  CountersignErrors: {
    at: '15m',
    fires: { [`${requests}"200"}`]: '0+100x20', [`${requests}"500"}`]: '0+5x20' },
    stays: {
      [`${requests}"200"}`]: '0+1000x20',
      [`${requests}"500"}`]: '0+5x20',
      [`${requests}"404"}`]: '0+500x20',
    },
  },
  CountersignTurnsAway: {
    at: '15m',
    fires: { 'countersign_http_turned_away_total{site="live"}': '0+120x20' },
    stays: { 'countersign_http_turned_away_total{site="live"}': '0+30x20' },
  },
  CountersignDeliveriesLate: {
    at: '10m',
    fires: onBoth('countersign_overdue_seconds', '61x20'),
    stays: onBoth('countersign_overdue_seconds', '200x3 0x20'),
  },
  CountersignBrokenPromise: {
    at: '5m',
    fires: { 'countersign_broken_promises_total{promise="order"}': '0x2 1x10' },
    labels: { promise: 'order' },
    stays: { 'countersign_broken_promises_total{promise="order"}': '3x20' },
  },
  CountersignAuditUnheard: {
    at: '10m',
    fires: onBoth('countersign_audit_unheard_seconds', '901+60x20'),
    stays: onBoth('countersign_audit_unheard_seconds', '1000x3 0x20'),
  },
  CountersignOutboxGrows: {
    at: '10m',
    fires: onBoth('countersign_outbox_events', '10001x20'),
    stays: onBoth('countersign_outbox_events', '20000x2 10x20'),
  },
  CountersignWebhookDisabled: {
    at: '20m',
    fires: disabled('1x5 2x30'),
    stays: disabled('2x5 1x30'),
  },
  CountersignDeliveriesGivenUp: {
    at: '20m',
    fires: onBoth(exhausted, '1x5 4x30'),
    stays: onBoth(exhausted, '9x5 0x30'),
  },
  CountersignSourceLate: {
    at: '30m',
    fires: { 'countersign_source_lag_seconds{source="core"}': '90000x40' },
    labels: { source: 'core' },
    stays: { 'countersign_source_lag_seconds{source="core"}': '3600x40' },
  },
  CountersignHoldingsWait: {
    at: '80m',
    fires: { 'countersign_source_waiting_holdings{source="core"}': '1x90' },
    labels: { source: 'core' },
    stays: { 'countersign_source_waiting_holdings{source="core"}': '5x30 0x60' },
  },
  CountersignProviderAway: {
    at: '6m',
    fires: { 'countersign_provider_away_seconds{provider="bank"}': '0+60x20' },
    labels: { provider: 'bank' },
    stays: { 'countersign_provider_away_seconds{provider="bank"}': '0 60 120 0x20' },
  },
  CountersignApprovalWaits: {
    at: '30m',
    fires: { 'countersign_approval_waiting_seconds{kind="proposal"}': '90000x40' },
    labels: { kind: 'proposal' },
    stays: { 'countersign_approval_waiting_seconds{kind="proposal"}': '3600+60x40' },
  },
  CountersignConnectionsExhausted: {
    at: '10m',
    fires: { [`${connections}"main"}`]: '1x20' },
    labels: { instance: 'one' },
    stays: { [`${connections}"main"}`]: '0x20', [`${connections}"streams"}`]: '4x20' },
  },
  CountersignEventLoopBusy: {
    at: '15m',
    fires: { [lag]: '0.3x20' },
    labels: { instance: 'one' },
    stays: { [lag]: '0.4x5 0.1x20' },
  },
}

test('every rule has a case in which it fires and one in which it does not, and says what to do', () => {
  assert.deepEqual(Object.keys(cases).sort(), rules.map(({ alert }) => alert).sort())
  for (const { alert, labels, annotations } of rules) {
    assert.ok(['page', 'ticket'].includes(labels.severity!), alert)
    assert.ok(annotations.summary && annotations.action, alert)
  }
})

const expected = ({ labels, annotations }: Rule, more: Case['labels']) => [
  { exp_labels: { ...labels, ...more }, exp_annotations: annotations },
]

function printCase(rule: Rule, { at, labels }: Case, series: Series, fires: boolean) {
  return {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [
      { eval_time: at, alertname: rule.alert, exp_alerts: fires ? expected(rule, labels) : [] },
    ],
  }
}

test('Prometheus fires each of them so', { skip: skipWithout('promtool', '--version') }, () => {
  const tests = rules.flatMap((rule) => {
    const its = cases[rule.alert]!
    return [printCase(rule, its, its.fires, true), printCase(rule, its, its.stays, false)]
  })
  const file = join(makeFolder(), 'alerts.test.json')
  writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }))
  for (const words of [
    ['check', 'rules', rulesFile],
    ['test', 'rules', file],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', words, { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
})
