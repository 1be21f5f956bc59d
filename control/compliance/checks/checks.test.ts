import t from 'tap'
import { CLEAR_CONSENT, CLEAR_FACTS, CLEAR_WALLET } from '../../../fixtures/database/gate-facts.js'
import type { CheckType, GateFacts, GateRequest } from '../check.js'
import { classifyNumber } from '../numbering.js'
import { seriesOf } from '../policy.js'
import { CHECKS } from './registry.js'

/*
 * Every check at its edges: name, time, changes of the facts and of the request, outcome and reason, and the next
 * allowed time of a block.
 */

interface Row {
  readonly at?: string
  readonly facts?: Partial<GateFacts>
  readonly request?: Partial<GateRequest>
  readonly is: string
  readonly next?: string
}

const NOON_IST = '2026-03-02T06:30:00.000Z'
const ago = (hours: number, extraMs = 0) => Date.parse(NOON_IST) - hours * 3_600_000 + extraMs
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

function table(type: CheckType, rows: readonly Row[]): void {
  t.test(type, async (t) => {
    for (const { at = NOON_IST, facts, request, is, next } of rows) {
      const asked = {
        to: '+919876543210',
        environment: 'live',
        purpose: 'service',
        trigger: 'call',
        ...request,
      } as const
      const now = Date.parse(at)
      const found = CHECKS[type].decide(asked, { ...CLEAR_FACTS, ...facts }, now)
      const name = `${at} ${JSON.stringify(request ?? {})} ${JSON.stringify(facts ?? {})}`
      t.equal(`${found.outcome} ${found.reason}`, is, name)
      t.equal(iso(found.nextAllowedAt), next ?? null, name)
      if (found.nextAllowedAt === null) continue
      const then = CHECKS[type].decide(asked, { ...CLEAR_FACTS, ...facts }, found.nextAllowedAt)
      t.not(then.outcome, 'block', `${name}: it passes at the time it names`)
      const before = CHECKS[type].decide(asked, { ...CLEAR_FACTS, ...facts }, found.nextAllowedAt - 1)
      t.equal(before.outcome, 'block', `${name}: and not before`)
    }
  })
}

const classes = [
  ['+919876543210', 'pass dialable'],
  ['+911171366900', 'pass dialable'],
  ['+911401234567', 'block number_promotional_series'],
  ['+911600123456', 'block number_service_series'],
  ['+9118001234567', 'block number_special'],
  ['+14155550100', 'block number_foreign'],
  ['+91112', 'block number_invalid'],
  ['x', 'block number_invalid'],
] as const
table(
  'number_format',
  classes.map(([to, is]) => ({ facts: { number: classifyNumber(to, []) }, is })),
)

const listed = (expiresAt: number | null, id: string | null = 'dnc_1') => ({
  suppressions: [{ id, source: 'opt_out', expiresAt }],
})
table('dnc', [
  { is: 'pass not_suppressed' },
  { facts: listed(null), is: 'block suppressed' },
  { facts: listed(null, null), is: 'block suppressed' },
  // 90 days after an opt-out, to the millisecond.
  { facts: listed(ago(0, 1)), is: 'block suppressed', next: '2026-03-02T06:30:00.001Z' },
  { facts: listed(ago(0)), is: 'pass not_suppressed' },
  {
    facts: { suppressions: [...listed(ago(0, 1)).suppressions, ...listed(null).suppressions] },
    is: 'block suppressed',
  },
  { facts: listed(null), request: { purpose: 'transactional' }, is: 'block suppressed' },
  { facts: listed(null), request: { environment: 'test' }, is: 'block suppressed' },
])

table('enforcement', [
  { is: 'pass not_restricted' },
  { facts: { enforcement: { blocked: true, reason: 'complaints' } }, is: 'block complaints' },
  { facts: { enforcement: { blocked: true, reason: null } }, is: 'block organization_blocked' },
])

table('verification', [
  { is: 'pass verified' },
  { facts: { verification: 'unverified' }, is: 'block organization_unverified' },
  { facts: { verification: 'submitted' }, is: 'block organization_submitted' },
  { facts: { verification: 'rejected' }, is: 'block organization_rejected' },
  { facts: { verification: 'unverified' }, request: { environment: 'test' }, is: 'pass simulated' },
])

const promotional = { purpose: 'promotional' } as const
const promotionalTest = { ...promotional, environment: 'test' } as const
const collections = { purpose: 'collections' } as const
table('calling_window', [
  { at: '2026-03-02T20:00:00.000Z', is: 'pass no_window' },
  { at: '2026-03-02T20:00:00.000Z', request: { purpose: 'transactional' }, is: 'pass no_window' },
  {
    at: '2026-03-02T04:29:59.999Z',
    request: promotional,
    is: 'block outside_window',
    next: '2026-03-02T04:30:00.000Z',
  },
  { at: '2026-03-02T04:30:00.000Z', request: promotional, is: 'pass inside_window' },
  { at: '2026-03-02T15:29:59.999Z', request: promotional, is: 'pass inside_window' },
  {
    at: '2026-03-02T15:30:00.000Z',
    request: promotional,
    is: 'block outside_window',
    next: '2026-03-03T04:30:00.000Z',
  },
  {
    at: '2026-03-02T03:29:59.999Z',
    request: promotionalTest,
    is: 'block outside_window',
    next: '2026-03-02T03:30:00.000Z',
  },
  { at: '2026-03-02T03:30:00.000Z', request: promotionalTest, is: 'pass inside_window' },
  // The last millisecond before midnight in India, and the first after it.
  {
    at: '2028-02-28T18:29:59.999Z',
    request: promotional,
    is: 'block outside_window',
    next: '2028-02-29T04:30:00.000Z',
  },
  {
    at: '2028-02-28T18:30:00.000Z',
    request: promotional,
    is: 'block outside_window',
    next: '2028-02-29T04:30:00.000Z',
  },
  {
    at: '2026-12-31T13:30:00.000Z',
    request: collections,
    is: 'block outside_window',
    next: '2027-01-01T02:30:00.000Z',
  },
  { at: '2027-01-01T13:29:59.999Z', request: collections, is: 'pass inside_window' },
  {
    at: '2026-03-02T05:29:59.999Z',
    request: promotional,
    facts: { windowNarrowing: { startMinute: 660, endMinute: 700 } },
    is: 'block outside_window',
    next: '2026-03-02T05:30:00.000Z',
  },
  {
    request: promotional,
    facts: { windowNarrowing: { startMinute: 1_300, endMinute: 1_310 } },
    is: 'block outside_window',
  },
])

const answer = (state: 'listed' | 'not_listed', validUntil = ago(0, 1)) => ({
  consent: null,
  register: { state, register: 'x', category: null, reference: null, checkedAt: ago(1), validUntil },
})
const broke = { balancePaise: 0, availablePaise: 0, minBalancePaise: 1_200, onHold: false }
table('dnd_register', [
  { is: 'pass not_required' },
  { request: { purpose: 'collections' }, facts: answer('listed'), is: 'pass not_required' },
  { request: promotional, facts: answer('listed'), is: 'block listed' },
  { request: promotional, facts: answer('not_listed'), is: 'pass not_listed' },
  // An answer counts until its last millisecond.
  { request: promotional, facts: answer('not_listed', ago(0)), is: 'block register_unknown' },
  { request: promotional, facts: { consent: null }, is: 'block register_unknown' },
  { request: promotional, facts: { consent: null, registerDay: 'later' }, is: 'warn asked_later' },
  { request: promotionalTest, facts: { consent: null }, is: 'warn register_unknown' },
  { request: promotional, facts: { consent: null, wallet: broke }, is: 'skipped wallet_short' },
  {
    request: promotional,
    facts: { ...answer('listed'), consent: CLEAR_CONSENT },
    is: 'pass explicit_consent',
  },
  {
    request: promotional,
    facts: { ...answer('listed'), consent: { ...CLEAR_CONSENT, expiresAt: ago(0) } },
    is: 'block listed',
  },
  {
    request: promotional,
    facts: { ...answer('listed'), consent: { ...CLEAR_CONSENT, kind: 'inferred' } },
    is: 'block listed',
  },
])

const captured = (hoursAgo: number, extraMs = 0) => ({
  consent: { ...CLEAR_CONSENT, capturedAt: ago(hoursAgo, extraMs) },
})
table('consent', [
  { is: 'pass explicit_consent' },
  { facts: { consent: { ...CLEAR_CONSENT, kind: 'inferred' } }, is: 'pass inferred_consent' },
  { facts: { consent: null }, is: 'warn no_consent' },
  { facts: { consent: null }, request: { purpose: 'transactional' }, is: 'pass not_required' },
  { facts: { consent: { ...CLEAR_CONSENT, expiresAt: ago(0) } }, is: 'warn consent_expired' },
  { facts: { consent: { ...CLEAR_CONSENT, expiresAt: ago(0, 1) } }, is: 'pass explicit_consent' },
  { facts: captured(180 * 24), request: promotional, is: 'pass explicit_consent' },
  { facts: captured(180 * 24, -1), request: promotional, is: 'warn consent_old' },
  { facts: captured(180 * 24, -1), is: 'pass explicit_consent' },
])

const campaign = { trigger: 'campaign', campaignId: 'cmp_1' } as const
table('frequency_cap', [
  { request: campaign, is: 'pass below_cap' },
  { request: campaign, facts: { lastCampaignAnswerAt: ago(168) }, is: 'pass below_cap' },
  {
    request: campaign,
    facts: { lastCampaignAnswerAt: ago(168, 1) },
    is: 'block answered_recently',
    next: '2026-03-02T06:30:00.001Z',
  },
  { facts: { lastCampaignAnswerAt: ago(1) }, is: 'pass not_capped' },
  {
    request: { ...campaign, purpose: 'transactional' },
    facts: { lastCampaignAnswerAt: ago(1) },
    is: 'pass not_capped',
  },
  {
    request: { ...campaign, purpose: 'collections' },
    facts: { lastCampaignAnswerAt: ago(1) },
    is: 'pass not_capped',
  },
])

const declared = (effectiveFrom: string, namesCallerId = true) => ({
  declarations: [{ id: 'rbd_1', reference: 'R1', effectiveFrom, namesCallerId }],
})
table('robocall_declaration', [
  { is: 'pass declared' },
  { facts: { declarations: [] }, is: 'block not_declared' },
  { facts: { declarations: [], robocallMode: 'warn' }, is: 'warn not_declared' },
  { facts: { declarations: [], robocallMode: 'off' }, is: 'pass check_off' },
  { facts: { declarations: [] }, request: { environment: 'test' }, is: 'warn not_declared' },
  { facts: { declarations: [] }, request: { trigger: 'origination' }, is: 'pass not_automated' },
  { facts: declared('2026-01-01', false), is: 'block caller_id_not_declared' },
  // It comes into force at midnight in India.
  { facts: declared('2026-03-03'), is: 'block not_in_force', next: '2026-03-02T18:30:00.000Z' },
  { at: '2026-03-02T18:30:00.000Z', facts: declared('2026-03-03'), is: 'pass declared' },
])

const sender = (series: string, more: Partial<GateFacts['sender']> = {}) => ({
  sender: { ...CLEAR_FACTS.sender, series, ...more },
})
table('sender_registration', [
  { is: 'pass registered' },
  { facts: sender('regular', { approved: null, peId: null }), is: 'warn ordinary_number' },
  {
    facts: sender('regular', { approved: null }),
    request: { environment: 'test' },
    is: 'pass ordinary_number',
  },
  { facts: sender('1601'), is: 'pass registered' },
  { facts: sender('140'), is: 'block series_not_for_purpose' },
  { facts: sender('140'), request: promotional, is: 'pass registered' },
  { facts: sender('1600'), request: promotional, is: 'block series_not_for_purpose' },
  { facts: sender('1600', { approved: null }), is: 'block sender_not_approved' },
  { facts: sender('1600', { peId: null }), is: 'block pe_id_missing' },
])

t.test('series of a caller ID', async (t) => {
  const rows = [
    ['+911401234567', '140'],
    ['+911600123456', '1600'],
    ['+911601123456', '1601'],
    ['+911602123456', 'regular'],
    ['+9114012345678', 'regular'],
    ['+919876543210', 'regular'],
  ] as const
  for (const [e164, series] of rows) t.equal(seriesOf(e164, CLEAR_FACTS.policy), series, e164)
})

table('wallet', [
  { is: 'pass covered' },
  { facts: { wallet: { ...CLEAR_WALLET, availablePaise: 1_199 } }, is: 'block balance_too_low' },
  { facts: { wallet: { ...CLEAR_WALLET, onHold: true } }, is: 'block wallet_on_hold' },
  { facts: { wallet: null }, request: { environment: 'test' }, is: 'pass simulated' },
])
