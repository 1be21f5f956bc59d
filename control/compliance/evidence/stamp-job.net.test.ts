import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { openMortal } from '../../../fixtures/database/mortal.js'
import { hasOpenssl, TimeStampAuthority } from '../../../fixtures/evidence/time-stamp-authority.js'
import { silentLog } from '../../../media/base/log.js'
import { projectRoot } from '../../../media/base/project-root.js'
import { verifyCommand } from '../../cli/evidence.js'
import { certificateFile, timeStampUrl } from '../../config/time-stamp-authority.js'
import type { Db } from '../../db/database.js'
import { openJobRunner } from '../../jobs/runner.js'
import { clearDial } from '../clearance.js'
import { anchorsOf, keepToken } from './anchors.js'
import { writeBundle } from './bundle.js'
import { closeHandler, scheduleCloses } from './close.js'
import { openEvidenceKeys } from './seal.js'
import { timeStampHandler } from './stamp-job.js'
import { recordsOf } from './store.js'
import { timeStampQuery, tokenOfReply } from './time-stamp.js'

const MINUTE_MS = 60_000
const hasPython = spawnSync('python3', ['--version']).status === 0

if (!hasOpenssl) t.plan(0, 'openssl is not installed')
else
  await onEachDialect(t, async (t, open) => {
    const authority = new TimeStampAuthority({ key: 'ec', credentials: 'parley:s3cret' })
    t.teardown(() => authority.close())
    const address = timeStampUrl(await authority.listen())
    const authorities = certificateFile('/')(authority.root)
    if (!address.ok || !authorities.ok) throw new Error('the settings are wrong')
    const setting = { ...address.value, authorities: authorities.value }
    const database = await open()
    // Openssl states the time of this machine, and a record must not be sealed after its time stamp.
    const calling = await openTestCalling(database, { wallMs: Date.now() })
    const { deps, owner, clock } = calling
    const live = { ...owner, environment: 'live' } as const
    const keys = openEvidenceKeys(deps.rootKey)
    const seal = () =>
      clearDial(
        deps,
        {
          ...{ organizationId: owner.organizationId, callId: 'call_x', from: '+919000000100' },
          gate: { to: '+919876543210', environment: 'live', purpose: 'service', trigger: 'call' },
          ...{ agentId: 'agt_x', agentVersionId: 'agv_x' },
        },
        async () => {},
      )
    const run = async (db: Db = deps.db, authority: typeof setting | null = setting) => {
      const closing = closeHandler({ db, rootKey: deps.rootKey, clock, timeStamps: authority !== null })
      const handlers = [closing, timeStampHandler({ db, authority })]
      const runner = openJobRunner({ db, clock, log: silentLog, handlers, pollMs: 1_000_000_000 })
      await runner.idle()
      await runner.close()
    }
    const file = join(t.testdir({}), 'chain.jsonl')
    const bundle = async () => {
      const parts: Buffer[] = []
      for await (const part of writeBundle(deps.db, live, keys)) parts.push(part)
      return Buffer.concat(parts)
    }
    const verify = async (bytes: Buffer, ...options: string[]) => {
      writeFileSync(file, bytes)
      const printed = t.capture(process.stdout, 'write', () => true)
      const status = await verifyCommand([file, ...options])
      const text = printed()
        .map(({ args }) => args[0])
        .join('')
      printed.restore()
      return { status, text }
    }

    await seal()
    await scheduleCloses(deps.db, clock.wall())
    await t.test(
      'replies that are wrong, late or changed are asked for again; one token is kept',
      async (t) => {
        authority.change = () => Buffer.from('busy')
        await run()
        t.match(await anchorsOf(deps.db, live).execute(), [{ token: null }])
        authority.change = (reply) => {
          const changed = Buffer.from(reply)
          changed[changed.length - 5] = (changed[changed.length - 5] ?? 0) ^ 1
          return changed
        }
        clock.advance(MINUTE_MS)
        await run()
        t.match(await anchorsOf(deps.db, live).execute(), [{ token: null }], 'the signature is wrong')
        authority.change = (reply) => reply
        const before = authority.requests
        let deaths = 0
        for (let commits = 0; commits < 20; commits++) {
          clock.advance(30 * MINUTE_MS)
          const mortal = openMortal(database, () => {})
          mortal.dieAtCommit(commits)
          await run(mortal.db).catch(() => {})
          if (!mortal.dead) break
          deaths++
        }
        t.ok(deaths >= 2, `${deaths} deaths`)
        t.ok(authority.requests - before >= 2, 'a process that died after the reply asked again')
        const [anchor, ...more] = await anchorsOf(deps.db, live).execute()
        t.same(more, [])
        t.match(anchor, { seq: 2, authority: 'O=Test, CN=Time Stamps' })
        t.ok(authority.accepts(Buffer.from(anchor?.token ?? '', 'base64'), anchor?.hash ?? ''))
        t.same(
          await deps.db.selectFrom('jobs').select('id').where('kind', '=', 'evidence-time-stamp').execute(),
          [],
        )
      },
    )

    await t.test('the bundle has the token, and the verifier names one that does not match', async (t) => {
      await seal()
      const whole = await bundle()
      const good = await verify(whole, '--authorities', authority.root)
      t.equal(good.status, 0, good.text)
      t.match(good.text, /1 time stamps, at most \d+ minutes/)
      t.match(good.text, /O=Test, CN=Time Stamps confirmed record 2 and all before it/)
      t.match((await verify(whole)).text, /issuer of its certificate was not checked/)
      const [header, gate, close, stamp, last] = whole.toString().trimEnd().split('\n')
      const fileOf = (...lines: (string | undefined)[]) => Buffer.from(`${lines.join('\n')}\n`)
      const swapped = await verify(fileOf(header, gate, stamp, close, last))
      t.equal(swapped.status, 1)
      t.match(swapped.text, 'Line 3: The time stamp of record 1 is wrong. The time stamp is of another hash.')
      t.match(
        (await verify(fileOf(header, stamp, gate, close, last))).text,
        /Line 2: .*does not follow a record/,
      )
      t.match((await verify(fileOf(header, gate, close, stamp, stamp, last))).text, /Line 5: .*second one/)
      const stranger = new TimeStampAuthority({ key: 'rsa' })
      t.teardown(() => stranger.close())
      t.match(
        (await verify(whole, '--authorities', stranger.root)).text,
        /Line 4: .*No given authority issued/,
      )
      await t.rejects(verify(whole, '--authorities', file), { message: /at least one certificate/ })
      const python = (bytes: Buffer) => {
        writeFileSync(file, bytes)
        const script = join(projectRoot, 'fixtures/evidence/verify.py')
        return spawnSync('python3', [script, file], { encoding: 'utf8' }).stdout.trim()
      }
      if (hasPython) {
        t.match(python(whole), /^VALID 3 3:/)
        t.match(python(fileOf(header, gate, stamp, close, last)), /^1 wrong_time_stamp/)
      }
    })

    await t.test('the API and a chain of another clock', async (t) => {
      const { id } = await recordsOf(deps.db, live).where('seq', '=', 1).executeTakeFirstOrThrow()
      t.ok(id)
      // A record that claims a later time than its time stamp: the clock of the authority is a day behind.
      clock.advance(90_000_000)
      const requests = authority.requests
      await run()
      const [, second] = await anchorsOf(deps.db, live).orderBy('seq').execute()
      t.equal(authority.requests, requests + 1)
      t.match(second, { seq: 4, token: null, stampedAt: null }, 'its token is not kept')
      t.match(
        await deps.db
          .selectFrom('jobs')
          .select('attempts')
          .where('kind', '=', 'evidence-time-stamp')
          .execute(),
        [{ attempts: 1 }],
        'it is asked again',
      )
      // An earlier release kept it.
      const { query, nonce } = timeStampQuery(second?.hash ?? '')
      const told = { hash: second?.hash ?? '', nonce }
      const stamped = tokenOfReply(authority.reply(query), told, authorities.value)
      await deps.db.transaction().execute((trx) => keepToken(trx, second?.id ?? '', stamped))
      const text = (await verify(await bundle())).text
      t.match(text, /Line \d: Record 4 says that it was sealed after the time stamp that covers it\./)
      t.match(
        dataOf(await calling.send('GET', '/v1/compliance/evidence/head', { key: calling.api.liveKey })),
        {
          seq: 4,
          hash: second?.hash,
        },
      )
    })

    await t.test('without an authority the head goes to the customer alone', async (t) => {
      await seal()
      clock.advance(86_400_000)
      const before = authority.requests
      await run(deps.db, null)
      t.match(await anchorsOf(deps.db, live).where('seq', '=', 6).execute(), [{ token: null }])
      t.equal(authority.requests, before)
    })
    await calling.close()
  })
