import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { cheapPasswords } from '../../fixtures/api/cheap-passwords.js'
import { openSmtpServer } from '../../fixtures/api/smtp-server.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../../media/base/log.js'
import { bootstrap } from '../access/accounts/bootstrap.js'
import { rootKeyOf } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import { type Mail, queueMail, queueMailToAdmins, sweepMails } from './outbox.js'
import { type MailSenderOptions, mailRetryMs, openMailSender } from './sender.js'
import { fileTransport, type MailTransport, requiresTls, smtpTransport } from './transport.js'

const rootKey = rootKeyOf(Buffer.alloc(32, 9))
const NOTICE: Mail = { kind: 'notice', subject: 'Hello\r\nBcc: other@example.in', text: 'नमस्ते\n.\nend' }
const TO = 'asha@example.in'

/** Collects log lines as JSON. */
function collect() {
  const lines: string[] = []
  const add = (level: string) => (fields: object, message: string) => {
    lines.push(JSON.stringify({ level, ...fields, message }))
  }
  return { lines, log: { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') } }
}

function senderOf(
  db: Db,
  clock: VirtualClock,
  transport: MailTransport,
  more: Partial<MailSenderOptions> = {},
) {
  return openMailSender({
    db,
    rootKey,
    clock,
    log: silentLog,
    transport,
    from: 'Parley <parley@voice.example.in>',
    pageUrl: (page, token) => `https://voice.example.in/${page}?token=${token}`,
    ...more,
  })
}

const rows = (db: Db) => db.selectFrom('mails').selectAll().orderBy('id').execute()

t.test('waits between attempts', async (t) => {
  t.same(
    [1, 2, 3, 6, 7, 8, 50].map((attempt) => mailRetryMs(attempt) / 60_000),
    [1, 2, 4, 32, 60, 60, 60],
  )
})

t.test('a password is not sent unencrypted', async (t) => {
  t.equal(requiresTls('smtp://user:secret@mail.example.in:587'), true)
  t.equal(requiresTls('smtps://user:secret@mail.example.in'), true)
  t.equal(requiresTls('smtp://relay.internal:25'), false)
  t.equal(requiresTls('smtp://user:secret@127.0.0.1:2525'), false)
})

t.test('mail', async (t) => {
  await onEachDialect(t, async (t, open) => {
    await t.test('over SMTP', async (t) => {
      const { db } = await open()
      const clock = new VirtualClock()
      const smtp = await openSmtpServer()
      const { log, lines } = collect()
      const sender = senderOf(db, clock, smtpTransport(`smtp://user:p%40ss@127.0.0.1:${smtp.port}`), { log })
      await queueMail(db, clock.wall(), TO, NOTICE)
      sender.wake()
      await sender.idle()
      const [mail] = smtp.mails
      t.match(mail, { from: 'parley@voice.example.in', to: [TO], login: 'user p@ss' })
      const data = mail?.data ?? ''
      const [row] = await rows(db)
      t.match(data, /^Subject: Hello Bcc: other@example\.in$/m, 'one line: no header is smuggled in')
      t.match(data, /^Auto-Submitted: auto-generated$/m)
      t.match(data, `Message-ID: <${row?.id}@voice.example.in>`)
      t.match(data, /^To: (<)?asha@example\.in/m)
      const body = data.slice(data.indexOf('\n\n') + 2)
      const decoded = /base64/i.test(data) ? Buffer.from(body, 'base64').toString() : data
      t.ok(decoded.includes('नमस्ते') || data.includes('=E0=A4=A8'), 'in Hindi')
      t.match(data, /multipart\/alternative.*text\/plain.*text\/html/s, 'as text and as HTML')
      t.match(row, { state: 'sent', attempts: 1, lastError: null })
      t.match(lines.join(), /"message":"mail\.sent"/)
      t.notMatch(lines.join(), /asha/, 'no address in the log')
      await sender.close()
      await smtp.close()
    })

    await t.test('tries again, and gives up after a permanent rejection', async (t) => {
      const { db } = await open()
      const clock = new VirtualClock()
      const smtp = await openSmtpServer()
      const { log, lines } = collect()
      const sender = senderOf(db, clock, smtpTransport(`smtp://127.0.0.1:${smtp.port}`), { log })
      const attempt = async () => {
        sender.wake()
        await sender.idle()
        return (await rows(db)).at(-1)
      }
      await queueMail(db, clock.wall(), TO, NOTICE)
      smtp.mood = 'busy'
      t.match(await attempt(), {
        state: 'waiting',
        attempts: 1,
        dueAt: clock.wall() + 60_000,
        lastError: /450/,
      })
      t.match(await attempt(), { attempts: 1 }, 'not before its time')
      clock.advance(60_000)
      smtp.mood = 'cut at once'
      t.match(await attempt(), { state: 'waiting', attempts: 2, dueAt: clock.wall() + 120_000 })
      clock.advance(120_000)
      smtp.mood = 'cut before the answer'
      t.match(await attempt(), { state: 'waiting', attempts: 3 })
      clock.advance(240_000)
      smtp.mood = 'accept'
      t.match(await attempt(), { state: 'sent', attempts: 4 })
      const ids = smtp.mails.map(({ data }) => /Message-ID: (.*)/i.exec(data)?.[1])
      t.equal(ids.length, 2, 'taken twice, because the first answer was lost')
      t.equal(ids[0], ids[1], 'under one id')

      await queueMail(db, clock.wall(), TO, NOTICE)
      smtp.mood = 'no such user'
      t.match(await attempt(), { state: 'failed', attempts: 1, lastError: /550/ })
      t.match(lines.at(-1) ?? '', /"level":"error".*"permanent":true.*mail\.failed/)

      await queueMail(db, clock.wall(), TO, NOTICE)
      smtp.mood = 'busy'
      let tries = 0
      for (let row = await attempt(); row?.state === 'waiting'; row = await attempt()) {
        tries++
        clock.advance(row.dueAt - clock.wall())
      }
      t.equal(tries, 29, 'for a day')
      t.match((await rows(db)).at(-1), { state: 'failed' })
      t.notMatch(lines.join(), /asha/, 'servers quote addresses; the log does not')
      clock.advance(30 * 86_400_000)
      t.equal(await sweepMails(db, clock.wall()), 3)
      await sender.close()
      await smtp.close()
    })

    await t.test('writes files without a server', async (t) => {
      const { db } = await open()
      const clock = new VirtualClock()
      const made = await bootstrap({ db, rootKey, clock, passwords: cheapPasswords })
      const folder = await mkdtemp(join(tmpdir(), 'parley-mail-'))
      const { log, lines } = collect()
      const sender = senderOf(db, clock, fileTransport(join(folder, 'mail')), { log })
      await queueMailToAdmins(db, clock.wall(), made?.organizationId ?? '', NOTICE)
      await queueMail(db, clock.wall(), 'owner@localhost', { kind: 'reset_password' })
      sender.wake()
      await sender.idle()
      const files = (await readdir(join(folder, 'mail'))).toSorted()
      t.equal(files.length, 2)
      t.equal((await stat(join(folder, 'mail', files[0] ?? ''))).mode & 0o777, 0o600)
      t.equal((await stat(join(folder, 'mail'))).mode & 0o777, 0o700)
      const text = await readFile(join(folder, 'mail', files[1] ?? ''), 'utf8')
      t.match(
        text,
        /^From: Parley <parley@voice\.example\.in>\nTo: owner@localhost\nSubject: Choose a new Parley password\n\n/,
      )
      const token = /https:\/\/voice\.example\.in\/reset-password\?token=(\w{43})/.exec(text)?.[1] ?? 'none'
      const stored = JSON.stringify([await rows(db), await db.selectFrom('mailTokens').selectAll().execute()])
      t.notMatch(stored, token, 'the token is in the mail only')
      t.match(lines.join(), /mail\.written_to_file/)
      t.notMatch(lines.join(), token)
      await sender.close()
      await rm(folder, { recursive: true })
    })

    await t.test('two processes send each mail once; mail held by a dead one is sent later', async (t) => {
      const { db } = await open()
      const clock = new VirtualClock()
      const sent: string[] = []
      const slow: MailTransport = {
        kind: 'smtp',
        async send({ id }) {
          await new Promise((resolve) => setImmediate(resolve))
          sent.push(id)
          return { ok: true }
        },
        close() {},
      }
      for (let i = 0; i < 60; i++) await queueMail(db, clock.wall(), TO, NOTICE)
      const senders = [senderOf(db, clock, slow), senderOf(db, clock, slow)]
      for (const sender of senders) sender.wake()
      for (const sender of senders) await sender.idle()
      t.equal(sent.length, 60)
      t.equal(new Set(sent).size, 60)

      await queueMail(db, clock.wall(), TO, NOTICE)
      const [held] = await db.selectFrom('mails').selectAll().where('state', '=', 'waiting').execute()
      await db
        .updateTable('mails')
        .set({ dueAt: clock.wall() + 120_000, lease: 'dead', attempts: 1 })
        .where('id', '=', held?.id ?? '')
        .execute()
      senders[0]?.wake()
      await senders[0]?.idle()
      t.equal(sent.length, 60, 'its lease runs')
      clock.advance(120_000)
      for (const sender of senders) sender.wake()
      for (const sender of senders) await sender.idle()
      t.equal(sent.at(-1), held?.id)
      for (const sender of senders) await sender.close()
      t.equal(clock.pending, 0, 'no timer is left')
    })

    await t.test('a mail that cannot be written does not delay the others', async (t) => {
      const { db } = await open()
      const clock = new VirtualClock()
      const smtp = await openSmtpServer()
      const sender = senderOf(db, clock, smtpTransport(`smtp://127.0.0.1:${smtp.port}`))
      await queueMail(db, clock.wall(), TO, NOTICE)
      await db.updateTable('mails').set({ fields: '{' }).execute()
      await queueMail(db, clock.wall(), 'second@example.in', NOTICE)
      sender.wake()
      await sender.idle()
      t.same(
        smtp.mails.map(({ to }) => to),
        [['second@example.in']],
      )
      t.same(
        (await rows(db)).map(({ state }) => state),
        ['waiting', 'sent'],
      )
      await sender.close()
      await smtp.close()
    })
  })
})
