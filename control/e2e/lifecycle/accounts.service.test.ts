import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { totpCode } from '../../../fixtures/api/second-factor.js'
import { openSmtpServer } from '../../../fixtures/api/smtp-server.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { until } from '../../../fixtures/host/until.js'
import { runCli, START_ENV, startService, temporaryFolder } from '../../../fixtures/service/cli.js'

/*
 * Signing in to the service as an operator starts it: real processes and a real mail server.
 */

assertNothingLeft(t)

t.test('owner, staff and mail of a running service', async (t) => {
  const folder = await temporaryFolder(t)
  const smtp = await openSmtpServer()
  t.teardown(() => smtp.close())
  const env = {
    PARLEY_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    PARLEY_MAIL_FROM: 'Voice <voice@example.in>',
  }
  const service = await startService(t, folder, { env })
  const post = async (path: string, body: object) => {
    const response = await fetch(`${service.httpUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify(body),
    })
    return { status: response.status, text: await response.text(), cookies: response.headers.getSetCookie() }
  }
  const logIn = (email: string, password: string) => post('/v1/auth/login', { email, password })

  const [, password = ''] = await service.cli.complained(/Owner +owner@localhost, password (\S+)/)
  const owner = await logIn('owner@localhost', password)
  t.equal(owner.status, 200)
  t.match(JSON.parse(owner.text).data.organizations, [{ role: 'owner' }])

  const args = ['staff', 'create', '--email', 'Support@Example.in']
  const made = runCli(t, folder, args, START_ENV)
  t.equal(await made.exit(), 0, made.stderr)
  const staffPassword = made.stdout.trim()
  t.match(staffPassword, /^[0-9A-Za-z]{20}$/)
  const again = runCli(t, folder, args, START_ENV)
  t.equal(await again.exit(), 2)
  t.match(again.stderr, /support@example\.in has an account already/)
  const staff = await logIn('support@example.in', staffPassword)
  t.equal(staff.status, 200)
  t.match(JSON.parse(staff.text).data, { user: { staff: true }, organizations: [] })
  const [cookie = ''] = (staff.cookies[0] ?? '').split(';')
  const asStaff = (path: string) =>
    fetch(`${service.httpUrl}${path}`, { headers: { cookie, connection: 'close' } }).then(
      ({ status }) => status,
    )
  t.equal(await asStaff('/v1/auth/session'), 200)
  t.equal(await asStaff('/v1/agents'), 403, 'staff see no customer data through the customer operations')
  t.equal(await asStaff('/v1/staff/organizations'), 403, 'and nothing else without a second factor')
  const csrf = /svc_csrf=([^;]+)/.exec(staff.cookies.join(';'))?.[1] ?? ''
  const change = async (path: string, body: object) => {
    const response = await fetch(`${service.httpUrl}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        connection: 'close',
        cookie: `${cookie}; svc_csrf=${csrf}`,
        'x-svc-csrf': csrf,
        origin: service.httpUrl,
      },
      body: JSON.stringify(body),
    })
    return JSON.parse(await response.text()).data
  }
  const { id, totp } = await change('/v1/auth/factors', { kind: 'totp' })
  const code = totpCode(totp.secret, Date.now())
  const { recoveryCodes } = await change(`/v1/auth/factors/${id}/confirm`, { code })
  t.equal(recoveryCodes.length, 10)
  t.equal(await asStaff('/v1/staff/organizations'), 200)
  const challenged = await logIn('support@example.in', staffPassword)
  t.equal(challenged.status, 401)
  const { challengeId } = JSON.parse(challenged.text).error.details
  const recovered = await post('/v1/auth/login/verify', { challengeId, recoveryCode: recoveryCodes[0] })
  t.match(JSON.parse(recovered.text).data, { user: { staff: true }, secondFactor: { proven: true } })

  const reset = runCli(t, folder, ['factors', 'reset', '--email', 'support@example.in'], START_ENV)
  t.equal(await reset.exit(), 0, reset.stderr)
  t.match(reset.stdout, /^1 second factor removed/)
  t.equal(await asStaff('/v1/auth/session'), 401, 'a reset ends all sessions')
  const afterwards = await logIn('support@example.in', staffPassword)
  t.match(JSON.parse(afterwards.text).data.secondFactor, { enrolled: false, proven: false })
  const unknown = runCli(t, folder, ['factors', 'reset', '--email', 'nobody@example.in'], START_ENV)
  t.equal(await unknown.exit(), 2)
  t.match(unknown.stderr, /nobody@example\.in has no account/)

  const json = {
    email: 'asha@example.in',
    password: 'a good password',
    name: 'Asha',
    organizationName: 'Asha',
  }
  t.equal((await post('/v1/signup', json)).status, 201)
  const mailOf = () => smtp.mails.find(({ to }) => to.includes('asha@example.in'))
  await until(async () => mailOf() !== undefined)
  const mail = mailOf()
  t.match(mail, { from: 'voice@example.in', to: ['asha@example.in'] })
  const text = (mail?.data ?? '').replace(/=\n/g, '').replaceAll('=3D', '=')
  const token = /verify-email\?token=(\w{43})/.exec(text)?.[1]
  t.match(text, `${service.httpUrl}/verify-email?token=`, 'the link names the port that was bound')
  t.equal((await post('/v1/auth/verify-email', { token, password: 'a good password' })).status, 200)
  t.equal((await logIn('asha@example.in', 'a good password')).status, 200)

  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
  const output = service.cli.stdout + service.cli.stderr
  for (const secret of [
    staffPassword,
    token ?? 'none',
    'a good password',
    'asha@example.in',
    cookie.split('=')[1] ?? 'none',
    totp.secret,
    recoveryCodes[0],
  ]) {
    t.notOk(output.includes(secret), 'no password, link, cookie or address in the log')
  }
})

t.test('without a mail server mail is written to the data folder', async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startService(t, folder)
  const response = await fetch(`${service.httpUrl}/v1/auth/password/forgot`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ email: 'owner@localhost' }),
  })
  t.equal(response.status, 202)
  await response.text()
  await service.cli.logged('mail.written_to_file')
  const mails = join(folder, 'data', 'mail')
  const [file = ''] = await readdir(mails)
  t.match(await readFile(join(mails, file), 'utf8'), /To: owner@localhost[\s\S]*reset-password\?token=/)
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})
