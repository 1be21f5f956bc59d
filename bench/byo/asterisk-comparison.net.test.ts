import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { findAsterisk } from '../../fixtures/sip/asterisk.js'
import type { Judgement } from '../lib/judged-time.js'
import {
  type ComparisonRun,
  comparisonRows,
  type Pair,
  ratioOf,
  recoveryRow,
  usPerCallFrame,
  withoutAsterisk,
} from './asterisk-comparison.js'
import { asteriskFiles } from './asterisk-config.js'
import { delaysOf, judgedEchoes } from './calls.js'
import { openBot } from './processes.js'

const PLACE = {
  modulesFolder: '/a/modules',
  dataFolder: '/a/data',
  folder: '/a/own folder',
  sipPort: 5099,
  rtpPorts: [16_000, 20_000],
  botPort: 8799,
} as const

t.test(
  'Asterisk listens on loopback only, bridges A-law to the bot, and keeps to its own folder',
  async (t) => {
    const files = asteriskFiles(PLACE)
    t.match(
      files['pjsip.conf'],
      /^\[loopback\]\ntype = transport\nprotocol = udp\nbind = 127\.0\.0\.1:5099\n/,
    )
    t.match(files['pjsip.conf'], /^media_address = 127\.0\.0\.1$/m)
    t.match(files['pjsip.conf'], /^bind_rtp_to_media_address = yes$/m)
    t.match(files['rtp.conf'], /^rtpstart = 16000\nrtpend = 20000$/m)
    t.match(files['websocket_client.conf'], /^uri = ws:\/\/127\.0\.0\.1:8799\/\nprotocols = media$/m)
    t.equal(
      files['extensions.conf'],
      '[bench]\nexten = bot,1,Dial(WebSocket/bot/c(alaw))\n same = n,Hangup(34)\n',
    )
    const folders = [...(files['asterisk.conf'] ?? '').matchAll(/^(ast\w+dir) => (.*)$/gm)]
    t.strictSame(
      folders.filter(([, , path]) => path !== PLACE.folder).map(([, name, path]) => [name, path]),
      [
        ['astmoddir', '/a/modules'],
        ['astdatadir', '/a/data'],
      ],
    )
    t.equal(folders.length, 10)
  },
)

t.test('it loads the modules that are named and no others', async (t) => {
  const lines = (asteriskFiles(PLACE)['modules.conf'] ?? '').trim().split('\n')
  t.strictSame(lines.slice(0, 2), ['[modules]', 'autoload = no'])
  t.ok(lines.slice(2).every((line) => /^load = [a-z_]+\.so$/.test(line)))
  t.ok(lines.includes('load = chan_websocket.so'))
})

t.test('a path that would be read as a comment is refused', async (t) => {
  t.throws(() => asteriskFiles({ ...PLACE, folder: '/tmp/a;b' }), /cannot name the folder/)
})

t.test(
  'Asterisk is found in a root folder with its own loader, when it has the channel driver',
  async (t) => {
    const root = await mkdtemp(join(tmpdir(), 'parley-root-'))
    t.teardown(() => rm(root, { recursive: true, force: true }))
    t.equal(findAsterisk(root), null)
    const libraries = join(root, 'usr', 'lib', 'some-linux-gnu')
    await mkdir(join(libraries, 'asterisk', 'modules'), { recursive: true })
    await mkdir(join(root, 'usr', 'sbin'), { recursive: true })
    await writeFile(join(root, 'usr', 'sbin', 'asterisk'), '')
    const loader = join(libraries, 'ld-linux-some.so.1')
    await writeFile(loader, '#!/bin/sh\necho "Asterisk 22 by $1 $2, asked $4"\n', { mode: 0o755 })
    t.equal(findAsterisk(root), null, 'one without chan_websocket')
    await writeFile(join(libraries, 'asterisk', 'modules', 'chan_websocket.so'), '')
    t.match(findAsterisk(root), {
      version: `Asterisk 22 by --library-path ${libraries}, asked -V`,
      command: loader,
      modulesFolder: join(libraries, 'asterisk', 'modules'),
      dataFolder: join(root, 'usr', 'share', 'asterisk'),
    })
  },
)

t.test('the bot says a frame of Asterisk back and leaves its control messages alone', async (t) => {
  const bot = await openBot()
  t.teardown(() => bot.close())
  const socket = new WebSocket(`ws://127.0.0.1:${bot.port}/`, 'media')
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  t.equal(socket.protocol, 'media')
  const heard: [Buffer, boolean][] = []
  const two = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer, isBinary) => {
      heard.push([data, isBinary])
      if (heard.length === 2) resolve()
    })
  })
  const frames = [Buffer.alloc(160, 0xd5), Buffer.alloc(160, 0x2a)] as const
  socket.send('MEDIA_START connection_id:bot channel:WebSocket/bot/0x1 format:alaw optimal_frame_size:160')
  socket.send(frames[0])
  socket.send('MEDIA_XOFF')
  socket.send('MEDIA_XON')
  socket.send(frames[1])
  await two
  t.strictSame(heard, [
    [frames[0], true],
    [frames[1], true],
  ])
})

// ---- the figures

/** Returns a judgement of the host with this share of late windows, none of them near the echoes. */
const host = (leftOutPercent: number): Judgement => ({
  late: new Set([1_000]),
  windows: 100,
  leftOutPercent,
  isVoid: leftOutPercent > 20,
  nullProbeMs: 1,
  worstMs: 3,
})

const turn = (cpuMs: number, leftOut = 1, delays: readonly (number | null)[] = [20]): ComparisonRun => ({
  established: 100,
  elapsedMs: 10_000,
  cpuMs,
  threadCpuMs: cpuMs / 2,
  botCores: 0.1,
  judged: host(leftOut),
  result: {
    echoes: delays.map((delayMs) => ({ sentMs: 0, delayMs })),
    packets: 50_000,
    lost: 0,
    gapP99: 1,
    gapP999: 2,
    gapMax: 3,
    ownLateP99: 1,
    ownCores: 0.2,
  },
})
const pair = (parleyMs: number, asteriskMs: number, leftOut = 1): Pair => ({
  parley: turn(parleyMs, 1, [6, 8, null]),
  asterisk: turn(asteriskMs, leftOut),
})
const BESIDE = { version: 'Asterisk 22' }

t.test('frames that are missing while the host was late do not count', async (t) => {
  const echoes = [
    { sentMs: 1_000, delayMs: 6 },
    { sentMs: 1_290, delayMs: null },
    { sentMs: 1_310, delayMs: 7 },
    { sentMs: 1_390, delayMs: null },
    { sentMs: 1_500, delayMs: null },
  ]
  const late = new Set([13])
  t.strictSame(judgedEchoes(echoes, late), [echoes[0], echoes[4]], 'a window of 100 ms')
  t.strictSame(delaysOf(echoes, late), [6])
  t.strictSame(judgedEchoes(echoes, new Set()), echoes)
})

t.test('CPU of a call and frame: 100 calls of 50 frames a second for ten seconds', async (t) => {
  t.equal(usPerCallFrame(turn(2_000), 2_000), 40)
})

t.test('the ratio is of calls that were up, not of calls that were asked for', async (t) => {
  t.equal(ratioOf(pair(2_000, 4_000)), 0.5)
  t.equal(ratioOf({ parley: { ...turn(2_000), established: 50 }, asterisk: turn(4_000) }), 1)
})

t.test('the figure is the median of the pairs of a quiet host', async (t) => {
  const pairs = [pair(2_000, 4_000), pair(9_000, 1_000, 21), pair(2_400, 4_000), pair(2_800, 4_000)]
  const [ratio, echo] = comparisonRows(100, pairs, BESIDE)
  t.match(ratio, {
    id: 'CPU_ratio@100',
    n: 3,
    value: 0.6,
    gate: 0.6,
    pass: true,
    nullProbeMs: 1,
    context: {
      beside: 'Asterisk 22',
      ratios: [0.5, 0.6, 0.7],
      mediaThreadUsPerCallFrame: 24,
      parley: { usPerCallFrame: [40, 48, 56], echoes: 9, missingEchoes: 3 },
      asterisk: { usPerCallFrame: [80, 80, 80] },
    },
  })
  t.equal(ratio?.context.void, undefined)
  t.match(echo, { id: 'E_byo_asterisk@100', n: 3, p50: 20, p99: 20, context: { parley: { p50: 6, p99: 8 } } })
})

t.test('without a quiet pair all of them stand, marked void', async (t) => {
  const [ratio] = comparisonRows(100, [pair(2_000, 4_000, 30), pair(2_800, 4_000, 40)], BESIDE)
  t.match(ratio, { n: 2, context: { void: true, counted: 2, leftOutPercent: 40 } })
})

t.test('an echo that never came back on time has no seconds', async (t) => {
  t.match(recoveryRow([0.2, 0.4, 0.3], BESIDE), { n: 3, value: 0.4, context: { never: 0 } })
  const late = recoveryRow([0.2, Number.POSITIVE_INFINITY, 0.3], BESIDE)
  t.equal(late.value, undefined)
  t.match(late.context, { never: 1, watchedSeconds: 3.5 })
})

t.test('without Asterisk there is no value, and the way to it', async (t) => {
  const rows = withoutAsterisk(['CPU_ratio@100', 'E_byo_asterisk@100', 'Recovery_asterisk'])
  t.match(
    rows,
    rows.map(() => ({ n: 0, pass: false, context: { notMeasured: /asterisk-root\.mjs/ } })),
  )
  t.ok(rows.every(({ value, p50 }) => value === undefined && p50 === undefined))
})
