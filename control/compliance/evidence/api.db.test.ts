import t from 'tap'
import { dataOf, itemsOf, openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { silentLog } from '../../../media/base/log.js'
import { sealingHandler } from '../../calls/lifecycle/seal-outcome.js'
import { openJobRunner } from '../../jobs/runner.js'
import { CHECK_TYPES } from '../check.js'
import { evidenceOperations } from './api.js'
import { textLines } from './lines.js'
import { replayDecision } from './replay.js'
import type { SealedPart } from './verify.js'
import { verifyBundle } from './verify-bundle.js'

const TO = '+919876543210'
const NONE: ReadonlyMap<string, unknown> = new Map()

/** Places a call, ends it after ten seconds, and seals its outcome. */
async function finishedCall(calling: TestCalling): Promise<string> {
  const { send, clock, deps, folder } = calling
  const json = { to: TO, numberId: calling.numberId }
  const id = String(dataOf(await send('POST', '/v1/calls', { json })).id)
  await calling.emitCallEvent(id, { type: 'answered' })
  clock.advance(10_000)
  const recording = { path: `${folder}/${id}.wav`, bytes: 4, durationMs: 900, sha256: 'ab'.repeat(32) }
  const ending = { by: 'callee', cause: 'caller_hangup', fault: 'none' } as const
  await calling.emitCallEvent(id, { type: 'ended', ending, rtp: null, recording })
  const handlers = [sealingHandler(deps)]
  const runner = openJobRunner({ db: deps.db, clock, log: silentLog, handlers, pollMs: 1_000_000 })
  await runner.idle()
  await runner.close()
  return id
}

/** Returns the sealed part of a text, or null if the text is not JSON. */
function jsonOf(text: string): SealedPart | null {
  try {
    return JSON.parse(text)
  } catch {
    return null // the flipped bit broke the syntax
  }
}

async function download(calling: TestCalling, path: string): Promise<Response> {
  return fetch(`${calling.api.url}${path}`, { headers: { authorization: `Bearer ${calling.api.testKey}` } })
}

await onEachDialect(t, async (t, open, dialect) => {
  const calling = await openTestCalling(await open())
  const { send } = calling
  await calling.publishAgent()
  const empty = dataOf(await send('GET', '/v1/compliance/evidence/head'))
  const id = await finishedCall(calling)
  const head = dataOf(await send('GET', '/v1/compliance/evidence/head'))

  await t.test('the records of a call', async (t) => {
    t.match(empty, { seq: 0, hash: '0'.repeat(64), sealedAt: null })
    const data = dataOf(await send('GET', `/v1/calls/${id}/evidence`))
    t.match(data, {
      gate: { kind: 'gate', callId: id, e164: TO, number: calling.number, outcome: null, allowed: true },
      outcome: { kind: 'outcome', seq: 2, outcome: { disposition: 'answered', durationSeconds: 10 } },
      verification: { valid: true, problem: null, head },
    })
    t.equal((await send('GET', `/v1/calls/call_01JZ0000000000000000000000/evidence`)).status, 404)
    const { testKey } = await calling.anotherOrganization()
    for (const path of ['evidence', 'evidence.pdf']) {
      t.equal((await send('GET', `/v1/calls/${id}/${path}`, { key: testKey })).status, 404)
    }
    t.equal((await send('GET', `/v1/calls/${id}/evidence`, { key: calling.api.liveKey })).status, 404)
  })

  await t.test('the page fits on one page', async (t) => {
    const response = await download(calling, `/v1/calls/${id}/evidence.pdf`)
    t.equal(response.headers.get('content-type'), 'application/pdf')
    const pdf = Buffer.from(await response.arrayBuffer()).toString('latin1')
    t.equal(pdf.slice(0, 5), '%PDF-')
    t.equal(pdf.match(/\/Type \/Page\b/g)?.length, 1)
  })

  await t.test('the record of a number', async (t) => {
    const consent = { e164: TO, purpose: 'service', kind: 'explicit', source: 'web_form' }
    for (const scope of ['reminders', 'reminders and news']) {
      const made = await send('POST', '/v1/consent', { json: { ...consent, scope } })
      t.equal(made.status, 201, JSON.stringify(made.body))
      calling.clock.advance(1)
    }
    await send('POST', '/v1/dnc', { json: { e164: TO, source: 'manual', reason: 'asked by letter' } })
    const path = `/v1/compliance/evidence?e164=${encodeURIComponent(TO)}`
    t.match(dataOf(await send('GET', path)), {
      e164: TO,
      consents: [{ scope: 'reminders and news' }, { scope: 'reminders', revokedReason: 'superseded' }],
      suppression: [{ source: 'manual' }],
      checks: [{ e164: TO, callId: id }],
      evidence: [{ kind: 'outcome' }, { kind: 'gate' }],
    })
    // The answer is not checked against the schema. It has what such a check would leave.
    const shown = dataOf(await send('GET', path))
    const schema = evidenceOperations.find(({ id }) => id === 'readPersonEvidence')?.result
    t.strictSame(shown, schema?.parse(shown))
    const { gate, outcome } = dataOf(await send('GET', `/v1/calls/${id}/evidence`))
    t.strictSame(shown.evidence, [outcome, gate])
    const checks = await send('GET', `/v1/compliance/checks?callId=${id}&limit=100`)
    const byId = (list: readonly Readonly<Record<string, unknown>>[]) =>
      list.toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1))
    t.strictSame(byId(shown.checks as ReturnType<typeof itemsOf>), byId(itemsOf(checks)))
    t.match(dataOf(await send('GET', path.replace('3210', '3211'))), { checks: [], evidence: [] })
    t.match(dataOf(await send('GET', path, { key: calling.api.liveKey })), { checks: [], evidence: [] })
    t.equal((await send('GET', '/v1/compliance/evidence?e164=9876543210')).status, 400)
  })

  await t.test('the export verifies without the service', async (t) => {
    const verify = async () => {
      const { body } = await download(calling, '/v1/compliance/evidence/export')
      if (body === null) throw new Error('no body')
      const known = { heads: [{ seq: Number(head.seq), hash: String(head.hash) }], key: String(head.keyId) }
      return verifyBundle(textLines(body), replayDecision, known)
    }
    t.match(await verify(), { problems: [], records: 2, decisions: { same: 1, notReplayed: 0 } })
    // Promotional calls are refused at night, and the refusal is sealed, too.
    const { organizationId } = calling.owner
    const { db, clock } = calling.deps
    calling.clock.advance(11 * 3_600_000)
    await db.updateTable('agents').set({ purpose: 'promotional' }).execute()
    await db.updateTable('agentVersions').set({ purpose: 'promotional' }).execute()
    const json = { to: TO, numberId: calling.numberId }
    const refused = await send('POST', '/v1/calls', { json })
    t.not(refused.status, 201, `refused at ${new Date(clock.wall()).toISOString()}`)
    t.match(await verify(), { problems: [], records: 3, decisions: { same: 2, notReplayed: 0 } })

    const { record } = await db
      .selectFrom('evidence')
      .select('record')
      .where('organizationId', '=', organizationId)
      .where('seq', '=', 3)
      .executeTakeFirstOrThrow()
    const sealed = JSON.parse(record)
    t.match(replayDecision({ ...sealed, decidedAt: '2026-03-02T06:30:00Z' }, NONE), { kind: 'differs' })
    t.match(replayDecision({ ...sealed, checks: [] }, NONE), { kind: 'differs' })
    t.match(replayDecision({ ...sealed, facts: { ...sealed.facts, policyVersion: '1' } }, NONE), {
      kind: 'not_replayed',
    })

    // An earlier release did not know one of the checks, and had no facts for it.
    const { robocallMode: _mode, declarations: _declarations, ...known } = sealed.facts
    const earlier = {
      ...sealed,
      facts: known,
      checks: sealed.checks.filter(({ type }: { type: string }) => type !== 'robocall_declaration'),
    }
    const types = earlier.checks.map(({ type }: { type: string }) => type)
    t.equal(types.length, CHECK_TYPES.length - 1)
    t.same(
      replayDecision(earlier, NONE, () => types),
      { kind: 'same' },
    )
    t.match(
      replayDecision(earlier, NONE),
      { kind: 'differs' },
      'a record of a version that knew the check lacks it',
    )
    const reversed = earlier.checks.toReversed()
    t.match(
      replayDecision({ ...earlier, checks: reversed }, NONE, () => types),
      { kind: 'differs' },
    )
    if (dialect === 'postgres') return
    // A record whose text was altered is still judged: the verifier ends with a report.
    let unreadable = 0
    for (let at = 0; at < record.length; at++) {
      const altered = `${record.slice(0, at)}${String.fromCharCode(record.charCodeAt(at) ^ 1)}${record.slice(at + 1)}`
      const parsed = jsonOf(altered)
      const again = parsed === null ? null : replayDecision(parsed, NONE)
      if (again?.kind === 'differs' && again.message.startsWith('the facts are not')) unreadable++
    }
    t.ok(unreadable > 0, 'some alterations take away a fact')
  })
  await calling.close()
})
