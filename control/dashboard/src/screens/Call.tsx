import {
  Button,
  Card,
  Code,
  CopyButton,
  Group,
  List,
  SimpleGrid,
  Stack,
  Tabs,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { CallState } from '../parts/CallState.js'
import { Conversation } from '../parts/Conversation.js'
import { Confirm } from '../parts/Dialog.js'
import { saveFile } from '../parts/files.js'
import { useAction } from '../parts/List.js'
import { MonitorPart } from '../parts/Monitor.js'
import { Loaded, Page } from '../parts/Page.js'
import { Boundary, Problem } from '../parts/Problem.js'
import { Facts } from '../parts/Rows.js'
import { ReplyStages, Signalling, useTimeline } from '../parts/Timeline.js'
import { State, useReason, useWord, Word } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

type CallView = Result<'readCall'>

/** One call: what was said and when, what it cost, why it ended, what the agent found out. */
export function Call() {
  const t = useTranslations('call')
  const { id } = useParams({ from: '/$environment/calls/$id' })
  const { api, canWrite, environment } = useSession()
  const key = useKey()
  const call = useQuery({
    queryKey: key('call', id),
    queryFn: () => api.readCall({ id }),
  })
  const tLive = useTranslations('liveCalls')
  const [ending, setEnding] = useState(false)
  const hangUp = useAction(
    () => api.hangUpCall({ id }),
    () => setEnding(false),
  )
  const running = call.data !== undefined && call.data.status !== 'ended'
  return (
    <Page
      title={call.data === undefined ? t('title') : `${call.data.from} → ${call.data.to}`}
      actions={
        <>
          {running && canWrite && (
            <Button color="red.9" onClick={() => setEnding(true)}>
              {t('hangUp')}
            </Button>
          )}
          <Link to="/$environment/calls" params={{ environment }}>
            {t('back')}
          </Link>
        </>
      }
    >
      <Loaded query={call} height={500}>
        {(data) => <Parts call={data} running={running} />}
      </Loaded>
      {ending && running && (
        <Confirm
          title={t('hangUp')}
          text={tLive('endText', { number: call.data.to })}
          label={t('hangUp')}
          action={hangUp}
          close={() => setEnding(false)}
        />
      )}
    </Page>
  )
}

function Parts({ call, running }: { readonly call: CallView; readonly running: boolean }) {
  const t = useTranslations('call')
  const { canWrite } = useSession()
  const course = useTimeline(call)
  return (
    <>
      <Head call={call} />
      <MonitorPart callId={call.id} name={call.to} running={running && call.status === 'in_progress'} />
      {running && canWrite && <Intervene id={call.id} />}
      <Conversation call={call} course={course} />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Charges call={call} />
        <Replies call={call} course={course.data} />
        <Stack>
          <Results call={call} />
          <Transfers call={call} />
          {course.data !== undefined && (
            <Part title={t('signalling')}>
              <Signalling course={course.data} />
            </Part>
          )}
        </Stack>
        <Stack>
          <Evidence call={call} />
        </Stack>
      </SimpleGrid>
      <Raw call={call} />
    </>
  )
}

function Head({ call }: { readonly call: CallView }) {
  const { time, clock } = useFormat()
  const word = useWord()
  return (
    <Group gap="sm">
      <CallState {...call} />
      {call.endedReason !== null && <Text size="sm">{word(call.endedReason)}</Text>}
      <Text size="sm">{time(call.startedAt ?? call.createdAt)}</Text>
      {call.durationSeconds !== null && <Text size="sm">{clock(call.durationSeconds)}</Text>}
      {call.error !== null && call.error !== undefined && (
        <Text size="sm">{typeof call.error === 'string' ? call.error : JSON.stringify(call.error)}</Text>
      )}
    </Group>
  )
}

/** Says something on a running call, or gives its agent a note for the next reply. */
function Intervene({ id }: { readonly id: string }) {
  const t = useTranslations('call')
  const { api } = useSession()
  const [text, setText] = useState('')
  const send = useMutation({
    mutationFn: async (how: 'say' | 'interrupt' | 'note') =>
      how === 'note'
        ? await api.noteOnCall({ id, body: { text } })
        : await api.sayOnCall({ id, body: { text, interrupt: how === 'interrupt' } }),
    onSuccess: () => setText(''),
  })
  return (
    <Part title={t('intervene')}>
      {send.error !== null && <Problem error={send.error} />}
      <TextInput
        label={t('interveneText')}
        description={t('interveneHelp')}
        maxLength={1_000}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Group mt="xs" gap="xs">
        {(['say', 'interrupt', 'note'] as const).map((how) => (
          <Button
            key={how}
            variant="default"
            disabled={text.trim() === ''}
            loading={send.isPending && send.variables === how}
            onClick={() => send.mutate(how)}
          >
            {t(`${how}Now`)}
          </Button>
        ))}
      </Group>
    </Part>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const t = useTranslations('problem')
  return (
    <Card withBorder component="section" aria-label={title}>
      <Title order={2} size="h4" mb="xs">
        {title}
      </Title>
      <Boundary fallback={<p role="alert">{t('crash')}</p>} data={children}>
        {children}
      </Boundary>
    </Card>
  )
}

/** The arithmetic of the bill, a line for each part of the call. */
function Charges({ call }: { readonly call: CallView }) {
  const t = useTranslations('call')
  const tHead = useTranslations('head')
  const { environment } = useSession()
  const { money } = useFormat()
  return (
    <Part title={t('charges')}>
      {environment === 'test' && <Text size="sm">{tHead('testHint')}</Text>}
      <Facts
        facts={[
          ...call.charges.map(
            ({ kind, seconds, ratePaisePerMinute, amountPaise }) =>
              [
                `${kind === 'agent' ? t('agent') : t('person')}: ${t('chargeLine', {
                  seconds,
                  rate: money(ratePaisePerMinute),
                })}`,
                money(amountPaise),
              ] as const,
          ),
          [t('total'), <strong key="total">{money(call.billedPaise)}</strong>],
        ]}
      />
    </Part>
  )
}

function Replies({
  call,
  course,
}: {
  readonly call: CallView
  readonly course: Result<'readCallTimeline'> | undefined
}) {
  const t = useTranslations('call')
  if (call.latency === null) return null
  const { firstAudioMs, turnP50Ms, turnP95Ms } = call.latency
  const shown = (ms: number | null): string => (ms === null ? '–' : `${ms} ms`)
  return (
    <Part title={t('latency')}>
      <Facts
        facts={[
          [t('firstAudio'), shown(firstAudioMs)],
          [t('turnP50'), shown(turnP50Ms)],
          [t('turnP95'), shown(turnP95Ms)],
        ]}
      />
      {course !== undefined && <ReplyStages course={course} />}
    </Part>
  )
}

function Results({ call }: { readonly call: CallView }) {
  const t = useTranslations('call')
  const outputs = Object.entries(call.outputs)
  if (call.summary === null && outputs.length === 0 && call.evaluation.length === 0) return null
  const gap = call.resultGap
  return (
    <Part title={t('outputs')}>
      <Stack gap="sm">
        {gap !== null && isGap(gap) && <Text size="sm">{t(`gap.${gap}`)}</Text>}
        {call.summary !== null && <Text>{call.summary}</Text>}
        {outputs.length > 0 && (
          <Facts
            facts={outputs.map(([name, value]) => [name, value === null ? '–' : String(value)] as const)}
          />
        )}
        {call.evaluation.length > 0 && (
          <List>
            {call.evaluation.map(({ id, name, passed, reason }) => (
              <List.Item key={id}>
                <Word color={passed ? 'green' : 'red'}>{passed ? t('passed') : t('failed')}</Word> {name}:{' '}
                {reason}
              </List.Item>
            ))}
          </List>
        )}
      </Stack>
    </Part>
  )
}

/** Shows the decision before the call, and whether its sealed records are unaltered. */
function Evidence({ call }: { readonly call: CallView }) {
  const t = useTranslations('call')
  const { api } = useSession()
  const key = useKey()
  const word = useWord()
  const reason = useReason()
  const sealed = call.evidenceId !== null
  const evidence = useQuery({
    queryKey: key('call', call.id, 'evidence', call.status),
    queryFn: () => api.readCallEvidence({ id: call.id }),
    enabled: sealed,
  })
  const save = useMutation({
    mutationFn: async () => saveFile(await api.downloadCallEvidence({ id: call.id }), `${call.id}.pdf`),
  })
  if (!sealed) return null
  return (
    <Part title={t('evidence')}>
      <Loaded query={evidence}>
        {({ gate, verification }) => (
          <Stack gap="sm">
            <div>
              <Word color={verification.valid ? 'green' : 'red'}>
                {verification.valid ? t('chainValid') : t('chainBroken')}
              </Word>
            </div>
            {verification.problem !== null && <Text size="sm">{verification.problem}</Text>}
            <Facts
              facts={(gate?.checks ?? []).map(
                (check) =>
                  [
                    <>
                      {word(check.type)}
                      <Text size="xs" c="dimmed">
                        {reason(check)}
                      </Text>
                    </>,
                    <State key={check.id} value={check.outcome} />,
                    check.id,
                  ] as const,
              )}
            />
            {save.error !== null && <Problem error={save.error} />}
            <div>
              <Button variant="default" size="xs" onClick={() => save.mutate()} loading={save.isPending}>
                {t('evidencePdf')}
              </Button>
            </div>
          </Stack>
        )}
      </Loaded>
    </Part>
  )
}

/** The attempts to hand the call over to a person. */
function Transfers({ call }: { readonly call: CallView }) {
  const t = useTranslations('call')
  const { api } = useSession()
  const key = useKey()
  const { time } = useFormat()
  const { transfer } = call
  const transfers = useQuery({
    queryKey: key('call', call.id, 'transfers', transfer?.status),
    queryFn: () => api.listCallTransfers({ id: call.id }),
    enabled: transfer !== null,
  })
  if (transfer === null) return null
  return (
    <Part title={t('transfers')}>
      <Loaded query={transfers}>
        {({ items }) => (
          <Facts
            facts={items.map(
              ({ id, destination, requestedAt, status }) =>
                [`${destination.label}, ${time(requestedAt)}`, <State key={id} value={status} />] as const,
            )}
          />
        )}
      </Loaded>
    </Part>
  )
}

const GAPS = ['pending', 'model_cannot_answer', 'model_failed'] as const

function isGap(gap: string): gap is (typeof GAPS)[number] {
  return (GAPS as readonly string[]).includes(gap)
}

function Raw({ call }: { readonly call: CallView }) {
  const t = useTranslations('common')
  const tPlayer = useTranslations('player')
  // The command reads the key from a variable: it never holds one.
  const curl = `curl -s '${new URL(`../v1/calls/${call.id}`, document.baseURI).href}' -H "authorization: Bearer $PARLEY_API_KEY"`
  return (
    <Card withBorder>
      {'clipboard' in navigator && (
        <CopyButton value={curl}>
          {({ copied, copy }) => (
            <Button size="xs" variant="default" mb="xs" onClick={copy} style={{ alignSelf: 'flex-start' }}>
              {copied ? t('copied') : tPlayer('curl')}
            </Button>
          )}
        </CopyButton>
      )}
      <Tabs defaultValue={null}>
        <Tabs.List>
          <Tabs.Tab value="json">{t('json')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="json">
          <Code block tabIndex={0} mah={400} className="wide">
            {JSON.stringify(call, null, 2)}
          </Code>
        </Tabs.Panel>
      </Tabs>
    </Card>
  )
}
