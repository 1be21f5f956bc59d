import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openReceiver, openWebhookRig } from '../../fixtures/api/webhooks.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { silentLog } from '../../media/base/log.js'
import { openJobRunner } from '../jobs/runner.js'
import { FolderStore } from '../objects/folder-store.js'
import { retentionHandlers, SWEEP_NAMES, scheduleRetention } from './retention.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const { db } = database
  const rig = await openWebhookRig(database)
  const receiver = await openReceiver()
  const { clock } = rig
  await scheduleRetention(db, 'node-1', clock.wall())
  await scheduleRetention(db, 'node-1', clock.wall())
  const recordings = mkdtempSync(join(tmpdir(), 'parley-retention-'))
  const objects = new FolderStore(join(recordings, 'objects'))
  const runner = openJobRunner({
    db,
    clock,
    log: silentLog,
    handlers: retentionHandlers({
      db,
      objects,
      rootKey: rig.api.deps.rootKey,
      clock,
      log: silentLog,
      nodeId: 'node-1',
      recordings,
    }),
    pollMs: DAY,
  })
  await runner.idle()
  const count = async (table: 'events' | 'webhookDeliveries' | 'idempotencyKeys') => {
    const { n } = await db
      .selectFrom(table)
      .select((column) => column.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
    return n
  }

  await t.test(
    'events and deliveries are kept for 30 days, idempotency keys until they expire',
    async (t) => {
      const { id } = await rig.endpoint(receiver.url)
      const roll = await rig.send('POST', `/v1/integrations/webhooks/${id}/roll-secret`)
      t.equal(roll.status, 200)
      for (let i = 0; i < 3; i++) await rig.recordEvent()
      await rig.runner.idle()
      await db
        .insertInto('idempotencyKeys')
        .values({
          id: 'idem_1',
          organizationId: rig.api.organizationId,
          environment: 'test',
          method: 'post',
          path: '/v1/calls',
          key: 'k',
          fingerprint: '',
          state: 'done',
          lock: '',
          lockedUntil: clock.wall(),
          status: 201,
          response: null,
          createdAt: clock.wall(),
          expiresAt: clock.wall() + DAY,
        })
        .execute()
      clock.advance(DAY - 1)
      await runner.idle()
      t.equal(await count('idempotencyKeys'), 1)
      clock.advance(HOUR)
      await runner.idle()
      t.equal(await count('idempotencyKeys'), 0)
      const { previousSecret } = await db
        .selectFrom('webhookEndpoints')
        .select('previousSecret')
        .executeTakeFirstOrThrow()
      t.equal(previousSecret, null, 'the secret of before the roll is forgotten')

      clock.advance(29 * DAY - 2 * HOUR)
      await rig.recordEvent()
      await rig.runner.idle()
      await runner.idle()
      t.strictSame([await count('events'), await count('webhookDeliveries')], [4, 4])
      clock.advance(2 * HOUR)
      await runner.idle()
      t.strictSame([await count('events'), await count('webhookDeliveries')], [1, 1])
    },
  )

  await t.test('each sweep has one job, due again in an hour', async (t) => {
    const jobs = await db.selectFrom('jobs').selectAll().where('kind', 'like', 'retention%').execute()
    const shared = jobs.filter(({ kind }) => kind === 'retention')
    t.strictSame(shared.map(({ payload }) => payload).toSorted(), SWEEP_NAMES.toSorted())
    t.equal(jobs.length, shared.length + 1, 'and one for the files of this process')
    for (const job of jobs) t.match(job, { owner: null, dueAt: clock.wall() + HOUR })
  })

  await t.test('many rows are deleted in chunks', async (t) => {
    const now = clock.wall()
    for (let i = 0; i < 12; i++) {
      await db
        .insertInto('events')
        .values(
          Array.from({ length: 100 }, (_, k) => ({
            id: `evt_${i}_${k}`,
            organizationId: rig.api.organizationId,
            environment: 'test' as const,
            type: 'call.answered',
            subjectType: 'call',
            subjectId: 'call_1',
            createdAt: now - 31 * DAY,
          })),
        )
        .execute()
    }
    clock.advance(HOUR)
    await runner.idle()
    t.equal(await count('events'), 1)
  })

  await runner.close()
  await rig.close()
  await receiver.close()
  rmSync(recordings, { recursive: true })
})
