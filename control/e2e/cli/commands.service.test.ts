import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { runCli, START_ENV, startService, temporaryFolder } from '../../../fixtures/service/cli.js'
import { openRootKey } from '../../base/root-key.js'
import { run } from '../../cli/main.js'
import { UsageError } from '../../cli/options.js'
import { VARIABLES } from '../../config/variables.js'

/*
 * The command line as an operator uses it: real processes, their output and exit status.
 */

assertNothingLeft(t)
t.jobs = 3

/** Options of a test that runs in parallel; each test needs its own object. */
const beside = () => ({ buffered: true, timeout: 150_000 })

t.test('help, version and wrong use', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const help = runCli(t, folder, ['--help'])
  t.equal(await help.exit(), 0)
  for (const { name } of VARIABLES) t.ok(help.stdout.includes(`  ${name} `), `${name} is explained`)
  const talk = runCli(t, folder, ['talk', '--help'])
  t.equal(await talk.exit(), 0)
  t.match(talk.stdout, /^parley talk \[--agent/, 'a command with options of its own lists them')
  const version = runCli(t, folder, ['--version'])
  t.equal(await version.exit(), 0)
  t.match(version.stdout, /^\d+\.\d+\.\d+\n$/)
  for (const [args, complaint] of [
    [['frobnicate'], /no such command: frobnicate/],
    [['wallet', 'add', '--rupees', '1.5', '--reference', 'x'], /--rupees must be a whole number/],
    [['wallet', 'add', '--rupees', '5'], /--reference must have/],
  ] as const) {
    const wrong = runCli(t, folder, args)
    t.equal(await wrong.exit(), 2, args.join(' '))
    t.match(wrong.stderr, complaint)
    t.equal(wrong.stdout, '')
  }
  // These are refused before they open a database, and a process for each would take a second.
  for (const [args, complaint] of [
    [['start', '--now'], /--now/],
    [['keys', 'create'], /--environment must be one of: test, live/],
    [['keys', 'create', '--environment', 'test', '--scopes', 'root'], /--scopes must be one of/],
    [['keys', 'create', '--environment', 'test', '--expires', '2001-01-01'], /--expires must be/],
  ] as const) {
    const error = await run(args).catch((thrown: unknown) => thrown)
    t.type(error, UsageError, args.join(' '))
    t.match(error, { message: complaint })
  }
})

t.test('an invalid configuration stops it at once and names every variable', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const wrong = runCli(t, folder, ['start'], {
    ...START_ENV,
    PARLEY_HTTP_PORT: 'eighty',
    PARLEY_SIP_LISTEN: 'sctp:127.0.0.1:5060',
    PARLEY_ROOT_KEY: 'much too short',
  })
  t.equal(await wrong.exit(), 1)
  const lines = wrong.stderr.trim().split('\n')
  t.equal(lines.length, 3, 'one line each, no stack')
  t.match(wrong.stderr, /PARLEY_HTTP_PORT=eighty: /)
  t.match(wrong.stderr, /PARLEY_SIP_LISTEN=sctp:127.0.0.1:5060: /)
  t.match(wrong.stderr, /PARLEY_ROOT_KEY: /)
  t.notMatch(wrong.stderr, /much too short/, 'no secret is printed')

  const misspelled = runCli(t, folder, ['start'], { ...START_ENV, PARLEY_HTTP_PROT: '80' })
  t.equal(await misspelled.exit(), 1)
  t.match(misspelled.stderr, /PARLEY_HTTP_PROT: there is no such setting/)
})

t.test('the root key is rotated, and everything continues', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const early = runCli(t, folder, ['keys', 'rotate-root'])
  t.equal(await early.exit(), 1)
  t.match(early.stderr, /root\.key does not exist/)
  const fixed = runCli(t, folder, ['keys', 'rotate-root'], { PARLEY_ROOT_KEY: 'ab'.repeat(32) })
  t.equal(await fixed.exit(), 2)
  t.match(fixed.stderr, /PARLEY_ROOT_KEY contains one key/)
  openRootKey(null, join(folder, '.data'))
  const rotated = runCli(t, folder, ['keys', 'rotate-root'])
  t.equal(await rotated.exit(), 0)
  t.equal(rotated.stdout, '0 secrets encrypted with the new root key\n')
  t.equal(openRootKey(null, join(folder, '.data')).previous.length, 1)
})

t.test('a port in use stops it at once', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const server = createServer()
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0
  const http = runCli(t, folder, ['start'], { ...START_ENV, PARLEY_HTTP_PORT: String(port) })
  t.equal(await http.exit(), 1)
  t.match(http.stderr, /PARLEY_HTTP_PORT/, http.stderr)
  const sip = runCli(t, folder, ['start'], { ...START_ENV, PARLEY_SIP_LISTEN: `tcp:127.0.0.1:${port}` })
  t.equal(await sip.exit(), 1)
  t.match(sip.stderr, /PARLEY_SIP_LISTEN/, sip.stderr)
})

t.test('keys and money are made once there is an organization', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const run = async (...args: string[]) => {
    const cli = runCli(t, folder, args, { PARLEY_DATA: START_ENV.PARLEY_DATA ?? '' })
    return { status: await cli.exit(), stdout: cli.stdout, stderr: cli.stderr }
  }
  const create = (...args: string[]) => run('keys', 'create', ...args)
  t.match(await create('--environment', 'test'), { status: 2, stdout: '', stderr: /database is empty/ })

  const service = await startService(t, folder)
  t.match(service.cli.stderr, /First start.*Owner.*password.*Test key.*Live key/s)
  t.notMatch(service.cli.stdout, new RegExp(service.key), 'keys are not logged')
  const admin = await create('--environment', 'test', '--scopes', 'admin', '--name', 'Second')
  t.match(admin, { status: 0, stdout: /^\S+\n$/, stderr: '' })
  const as = (key: string) => ({ authorization: `Bearer ${key.trim()}` })
  const whoami = await service.send('GET', '/v1/whoami', undefined, as(admin.stdout))
  t.match(whoami, { status: 200, body: { data: { environment: 'test' } } })

  const reader = await create('--environment', 'live')
  t.match(await service.send('GET', '/v1/whoami', undefined, as(reader.stdout)), {
    status: 200,
    body: { data: { environment: 'live' } },
  })
  const add = (...args: string[]) => run('wallet', 'add', '--rupees', '500', ...args)
  t.match(await add('--reference', 'first'), { status: 0, stdout: 'The balance is 500.00 rupees now.\n' })
  t.match(await add('--reference', 'first'), { status: 2, stderr: /reference was used before/ })
  t.match(await add('--reference', 'x', '--organization', 'org_x'), {
    status: 2,
    stderr: /no such organization/,
  })
  t.match(await service.send('GET', '/v1/wallet', undefined, as(reader.stdout)), {
    body: { data: { balancePaise: 50_000 } },
  })
  const refused = await service.send('POST', '/v1/agents', { name: 'x' }, as(reader.stdout))
  t.equal(refused.status, 403, 'read does not write')

  service.cli.process.kill('SIGINT')
  t.equal(await service.cli.exit(), 0)
  const again = await startService(t, folder, { key: admin.stdout.trim() })
  t.notMatch(again.cli.stderr, /First start/, 'shown once')
  t.equal((await again.send('GET', '/v1/whoami')).status, 200, 'keys outlive a restart')
  again.cli.process.kill('SIGTERM')
  t.equal(await again.cli.exit(), 0)
})
