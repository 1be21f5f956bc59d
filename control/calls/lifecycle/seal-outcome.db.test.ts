import { createHash } from 'node:crypto'
import t from 'tap'
import { dataOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { silentLog } from '../../../media/base/log.js'
import { canonicalJson } from '../../base/canonical-json.js'
import { openEvidenceKeys } from '../../compliance/evidence/seal.js'
import { verifyStoredChain } from '../../compliance/evidence/stored-chain.js'
import { openJobRunner } from '../../jobs/runner.js'
import { addJobs } from '../../jobs/store.js'
import { insertMonitor } from '../monitors/store.js'
import { sealingHandler, sealingJob } from './seal-outcome.js'

await onEachDialect(t, async (t, open) => {
  await t.test('the end of a call is sealed once, with the hashes of what was recorded', async (t) => {
    const calling = await openTestCalling(await open())
    const { deps, clock, owner, send, folder } = calling
    await calling.publishAgent()
    const json = { to: '+919876543210', numberId: calling.numberId }
    const id = String(dataOf(await send('POST', '/v1/calls', { json })).id)
    const said = { id: 1, speaker: 'caller', text: 'हाँ', heardText: 'हाँ', language: 'hi-IN' } as const
    const takeover = { type: 'monitored', id: 'mon_1', by: 'usr_1', mode: 'takeover' } as const
    const monitor = { id: 'mon_1', ...owner, callId: id, userId: 'usr_1', mode: 'takeover' } as const
    await deps.db
      .transaction()
      .execute((trx) => insertMonitor(trx, { ...monitor, place: 0, startedAt: null }, clock.wall()))
    const recording = { path: `${folder}/${id}.wav`, bytes: 4, durationMs: 900, sha256: 'ab'.repeat(32) }
    await calling.emitCallEvent(
      id,
      { type: 'answered' },
      { type: 'turn', turn: { ...said, startMs: 0, endMs: 900, words: null } },
      { ...takeover, status: 'begun', outcome: null },
      {
        type: 'ended',
        ending: { by: 'callee', cause: 'caller_hangup', fault: 'none' },
        rtp: null,
        recording,
      },
    )
    const handlers = [sealingHandler(deps)]
    const runner = openJobRunner({ db: deps.db, clock, log: silentLog, handlers, pollMs: 1_000_000 })
    await runner.idle()
    await addJobs(deps.db, [sealingJob(id, clock.wall())], clock.wall())
    await runner.idle()
    await runner.close()

    const rows = await deps.db.selectFrom('evidence').selectAll().orderBy('seq').execute()
    t.match(rows, [{ kind: 'gate' }, { kind: 'outcome', callId: id, e164: json.to, personal: null }])
    t.equal(rows.length, 2)
    const { segments } = dataOf(await send('GET', `/v1/calls/${id}/transcript`)) as { segments: [] }
    t.match(JSON.parse(rows[1]?.record ?? ''), {
      direction: 'outbound',
      number: calling.number,
      outcome: {
        disposition: 'answered',
        endedReason: 'caller_hangup',
        recordingSha256: recording.sha256,
        transcriptSha256: createHash('sha256').update(canonicalJson(segments)).digest('hex'),
        monitors: [{ mode: 'takeover', userId: 'usr_1', endedAt: /^20/ }],
      },
    })
    t.notOk(rows[1]?.record.includes(json.to))
    t.match(await verifyStoredChain(deps.db, owner, openEvidenceKeys(deps.rootKey)), { valid: true, seq: 2 })
    await calling.close()
  })
})
