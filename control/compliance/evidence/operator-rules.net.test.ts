import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { projectRoot } from '../../../media/base/project-root.js'
import { canonicalJson, type Json } from '../../base/canonical-json.js'
import type { Policy } from '../../config/policy-file.js'
import { clearDial } from '../clearance.js'
import { keepPolicy } from '../policy-store.js'
import { writeBundle } from './bundle.js'
import { sha256 } from './hashes.js'
import { textLines } from './lines.js'
import { replayDecision } from './replay.js'
import { openEvidenceKeys } from './seal.js'
import { verifyBundle } from './verify-bundle.js'

const DAY_MS = 86_400_000
const FROM = { source: 'A circular', effectiveFrom: '2026-01-01' }
const RULES = {
  replace: ['suppression'],
  hours: [{ purpose: 'transactional', startMinute: 600, endMinute: 1080, ...FROM }],
  suppression: [{ days: 120, ...FROM }],
  shortConsent: [{ days: 3, ...FROM }],
  mobilePrefixes: [{ prefix: '5012', ...FROM }],
}
/** Verifies a bundle and decides again. */
function verify(bytes: Buffer) {
  const chunks = async function* () {
    yield bytes
  }
  return verifyBundle(textLines(chunks()), replayDecision)
}

const hasPython = spawnSync('python3', ['--version']).status === 0

await onEachDialect(t, async (t, open) => {
  const folder = t.testdir({ 'policy.json': JSON.stringify(RULES) })
  const env = { PARLEY_POLICY_FILE: join(folder, 'policy.json') }
  const start = async () => {
    const calling = await openTestCalling(await open(), { wallMs: Date.parse('2026-03-02T06:30:00Z'), env })
    const { deps } = calling
    await keepPolicy(deps.db, deps.policy, calling.clock.wall())
    await keepPolicy(deps.db, deps.policy, calling.clock.wall())
    const call = (to: string) =>
      calling.send('POST', '/v1/calls', { json: { to, numberId: calling.numberId } })
    return { calling, deps, call }
  }

  await t.test('calls, consents and opt-outs follow the rules of the file', async (t) => {
    const { calling, call } = await start()
    await calling.publishAgent()
    t.equal((await call('+915012345678')).status, 201, 'a number of a new series')
    const refused = await call('+915552345678')
    t.match(refused.body, { error: { code: 'validation_error', details: { issues: [{ path: 'to' }] } } })
    const { clock } = calling
    const consent = { e164: '+919876543210', kind: 'explicit', scope: 'Order', source: 'web_form' }
    const kept = await calling.send('POST', '/v1/consent', { json: { ...consent, purpose: 'transactional' } })
    t.equal(dataOf(kept).expiresAt, new Date(clock.wall() + 3 * DAY_MS).toISOString())
    const out = await calling.send('POST', '/v1/dnc', {
      json: { e164: '+919876543211', source: 'opt_out' },
    })
    t.equal(dataOf(out).lockedUntil, new Date(clock.wall() + 120 * DAY_MS).toISOString())
    clock.advance(7 * 3_600_000)
    const late = await call('+919876543210')
    t.equal(late.status, 403)
    t.match(late.body, {
      error: { details: { checkType: 'calling_window', nextAllowedAt: '2026-03-03T04:30:00.000Z' } },
    })
    await calling.close()
  })

  await t.test('records name the rules, and an export decides again by them', async (t) => {
    const { calling, deps, call } = await start()
    await calling.publishAgent()
    const id = String(dataOf(await call('+919876543210')).id)
    const { gate } = dataOf(await calling.send('GET', `/v1/calls/${id}/evidence`)) as { gate: object }
    t.match(gate, { policyVersion: deps.policy.version })
    calling.clock.advance(7 * 3_600_000)
    t.equal((await call('+919876543210')).status, 403, 'refused by the hours of the file')
    const parts: Buffer[] = []
    const keys = openEvidenceKeys(deps.rootKey)
    for await (const part of writeBundle(deps.db, calling.owner, keys)) parts.push(part)
    const whole = Buffer.concat(parts)
    t.match(await verify(whole), { problems: [], records: 2, decisions: { same: 2, notReplayed: 0 } })
    const [header, rules = '', ...records] = whole.toString().trimEnd().split('\n')
    const fileOf = (...lines: (string | undefined)[]) => Buffer.from(`${lines.join('\n')}\n`)
    const without = await verify(fileOf(header, ...records))
    t.match(without, { problems: [], decisions: { same: 0, notReplayed: 2 } })
    const altered = fileOf(header, rules.replace('"startMinute":600', '"startMinute":540'), ...records)
    t.match(await verify(altered), { problems: [{ line: 2, code: 'wrong_policy' }] })
    // Rules that a stranger made under a version of his own do not decide the sealed records.
    t.match(await verify(fileOf(header, ...records, rules)), { problems: [{ code: 'not_a_record' }] })
    if (hasPython) {
      const python = (bytes: Buffer) => {
        const file = join(folder, 'chain.jsonl')
        writeFileSync(file, bytes)
        const script = join(projectRoot, 'fixtures/evidence/verify.py')
        return spawnSync('python3', [script, file], { encoding: 'utf8' }).stdout.trim()
      }
      t.match(python(whole), /^VALID 2 2:/)
      t.match(python(altered), /^0 wrong_policy/)
    }
    await calling.close()
  })

  await t.test('rules that an earlier release exported decide its records again', async (t) => {
    const { calling, deps } = await start()
    const { owner, clock } = calling
    const { erasureFloor: _, ...known } = deps.policy.rules
    // The earlier release had no such kind, neither in its text nor in its hash.
    const rules = known as Policy
    const version = `2026-2+${sha256(canonicalJson(known as unknown as Json))}`
    const earlier = { ...deps, policy: { version, rules } }
    await keepPolicy(deps.db, earlier.policy, clock.wall())
    const gate = { to: '+919876543210', purpose: 'transactional', trigger: 'call' } as const
    const dial = { organizationId: owner.organizationId, callId: 'call_1', from: '+918041234567' }
    const agent = { agentId: null, agentVersionId: null }
    const environment = owner.environment
    await clearDial(earlier, { ...dial, ...agent, gate: { ...gate, environment } }, async () => {})
    clock.advance(7 * 3_600_000)
    const late = { ...dial, ...agent, callId: 'call_2', gate: { ...gate, environment } }
    t.match(await clearDial(earlier, late, async () => {}), { cleared: false })
    const parts: Buffer[] = []
    for await (const part of writeBundle(deps.db, owner, openEvidenceKeys(deps.rootKey))) parts.push(part)
    t.match(await verify(Buffer.concat(parts)), {
      problems: [],
      records: 2,
      decisions: { same: 2, notReplayed: 0 },
    })
    await calling.close()
  })
})
