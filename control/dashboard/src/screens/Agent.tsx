import { Alert, Button, Group, Stack, Tabs, Text } from '@mantine/core'
import { type UseMutationResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { ParleyError } from '../../../../clients/typescript/errors.js'
import type { UpdateAgentBody } from '../../../../clients/typescript/generated/types.js'
import type { SessionApi } from '../api.js'
import { useFormat } from '../i18n.js'
import { Dialog } from '../parts/Dialog.js'
import { TextDifference } from '../parts/Differences.js'
import { Loaded, Page } from '../parts/Page.js'
import { fieldsOf, type Issue, Problem } from '../parts/Problem.js'
import { TalkPanel } from '../parts/TalkPanel.js'
import { TestPanel } from '../parts/TestPanel.js'
import { useToast } from '../parts/toast.js'
import { useSentence } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'
import {
  type AgentView,
  type Draft,
  draftOf,
  patchOf,
  type Rebased,
  rebase,
  withValue,
} from './agent/config.js'
import { type Editing, EditingContext, useFieldName } from './agent/fields.js'
import { Json } from './agent/Json.js'
import { Sections } from './agent/Sections.js'
import { Publish, Versions } from './agent/Versions.js'

/** One agent: its draft as a form and as JSON, what is live, and its versions. */
export function Agent() {
  const t = useTranslations('agent')
  const { id } = useParams({ from: '/$environment/agents/$id' })
  const { api, environment } = useSession()
  const key = useKey()
  const agent = useQuery({ queryKey: key('agent', id), queryFn: () => api.readAgent({ id }) })
  return (
    <Page
      title={agent.data?.name ?? t('title')}
      actions={
        <Link to="/$environment/agents" params={{ environment }}>
          {t('back')}
        </Link>
      }
    >
      <Loaded query={agent} height={500}>
        {(data) => <Parts key={data.id} agent={data} />}
      </Loaded>
    </Page>
  )
}

function Parts({ agent }: { readonly agent: AgentView }) {
  const t = useTranslations('agent')
  const tCommon = useTranslations('common')
  const { api, canWrite } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const toast = useToast()
  const sentence = useSentence()
  const stored = draftOf(agent)
  // The agent that the changes began with: fields that another user changed meanwhile are not sent back.
  const [base, setBase] = useState<AgentView | null>(null)
  // Unsaved changes outlive a look at another tab.
  const [edited, setEdited] = useState<Draft | null>(null)
  const [json, setJson] = useState<string | null>(null)
  const [issues, setIssues] = useState<readonly Issue[]>([])
  const [overtaken, setOvertaken] = useState<Overtaken | null>(null)
  const draft = edited ?? stored
  const began = base ?? agent
  const dirty = edited !== null && Object.keys(patchOf(draftOf(began), edited)).length > 0
  const save = useMutation({
    mutationFn: (changed: object) => saveDraft(api, began, changed),
    onSuccess: (outcome) => {
      if (outcome.kind === 'overtaken') {
        setOvertaken(outcome)
        return
      }
      queries.setQueryData(key('agent', agent.id), outcome.agent)
      discard()
      toast(outcome.kind === 'merged' ? t('merged') : tCommon('saved'))
    },
    onError: (error) => setIssues(fieldsOf(error)),
  })
  /** Goes on from the agent that another user saved, with this draft. */
  const goOn = ({ newest }: Overtaken, next: Draft): void => {
    queries.setQueryData(key('agent', agent.id), newest)
    setBase(newest)
    setEdited(next)
    setJson(null)
    setIssues([])
    setOvertaken(null)
    save.reset()
  }
  const overwrite = useMutation({
    mutationFn: ({ newest, mine }: Overtaken) => saveDraft(api, newest, mine),
    onSuccess: (outcome) => {
      setOvertaken(outcome.kind === 'overtaken' ? outcome : null)
      if (outcome.kind === 'overtaken') return
      queries.setQueryData(key('agent', agent.id), outcome.agent)
      discard()
      toast(tCommon('saved'))
    },
  })
  const discard = (): void => {
    setBase(null)
    setEdited(null)
    setJson(null)
    setIssues([])
    save.reset()
  }
  const editing: Editing = {
    draft,
    disabled: !canWrite || json !== null,
    set: (path, value) => {
      setBase(began)
      setEdited((current) => withValue(current ?? stored, path, value))
      setIssues((current) => current.filter((issue) => !issue.path.startsWith(path)))
    },
    errorAt: (path) => {
      const issue = issues.find((found) => found.path === path)
      return issue === undefined ? undefined : sentence(issue.reason)
    },
    faulty: issues.map(({ path }) => path),
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate(draft)
  }
  return (
    <Tabs defaultValue="settings" keepMounted={false}>
      {overtaken !== null && (
        <Choice
          overtaken={overtaken}
          overwrite={{ ...overwrite, mutate: () => overwrite.mutate(overtaken) }}
          takeTheirs={() => goOn(overtaken, overtaken.theirs)}
          close={() => setOvertaken(null)}
        />
      )}
      <Tabs.List>
        <Tabs.Tab value="settings">{t('settings')}</Tabs.Tab>
        <Tabs.Tab value="versions">{t('versions')}</Tabs.Tab>
        <Tabs.Tab value="json">{tCommon('json')}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="settings" pt="md">
        <div className="editor">
          <Stack>
            {!dirty && json === null && <Publish agent={agent} />}
            {json !== null && <JsonPending />}
            <EditingContext value={editing}>
              {/* The service checks the fields: those of closed sections could not show the message of the browser. */}
              <form onSubmit={submit} noValidate>
                <Stack>
                  <Sections />
                  {!canWrite && <Text size="sm">{tCommon('notAllowed')}</Text>}
                  {save.error !== null && <Problem error={save.error} />}
                  {dirty && json === null && (
                    <Alert color="orange" className="unsaved">
                      <Group justify="space-between">
                        <Text size="sm">{t('unsaved')}</Text>
                        <Group gap="sm">
                          <Button variant="default" onClick={discard}>
                            {t('discard')}
                          </Button>
                          <Button type="submit" loading={save.isPending}>
                            {tCommon('save')}
                          </Button>
                        </Group>
                      </Group>
                    </Alert>
                  )}
                </Stack>
              </form>
            </EditingContext>
          </Stack>
          <Stack className="beside">
            <TalkPanel agent={agent} />
            <TestPanel agentId={agent.id} version={agent.publishedVersion} />
          </Stack>
        </div>
      </Tabs.Panel>
      <Tabs.Panel value="versions" pt="md">
        <Versions agent={agent} />
      </Tabs.Panel>
      <Tabs.Panel value="json" pt="md">
        <Json
          text={json ?? JSON.stringify(draft, null, 2)}
          changed={json !== null || dirty}
          edit={(text) => {
            setBase(began)
            setJson(text)
          }}
          discard={discard}
          save={save}
        />
      </Tabs.Panel>
    </Tabs>
  )
}

/** Another user saved other values of the settings that were changed here. */
interface Overtaken extends Rebased {
  readonly kind: 'overtaken'
  readonly newest: AgentView
}

type Outcome = { readonly kind: 'saved' | 'merged'; readonly agent: AgentView } | Overtaken

/**
 * Saves the changes from `began` to `changed`. A draft that another user saved meanwhile stays, unless both changed the same
 * setting: then nothing is saved.
 */
async function saveDraft(api: SessionApi, began: AgentView, changed: object): Promise<Outcome> {
  const send = (seen: AgentView, body: object) =>
    api.updateAgent({ id: seen.id, query: { ifUpdatedAt: seen.updatedAt }, body: body as UpdateAgentBody })
  const patch = patchOf(draftOf(began), changed)
  if (Object.keys(patch).length === 0) return { kind: 'saved', agent: began }
  try {
    return { kind: 'saved', agent: await send(began, patch) }
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== 'conflict') throw error
    const newest = await api.readAgent({ id: began.id })
    // It is another conflict than a newer draft.
    if (newest.updatedAt === began.updatedAt) throw error
    const next = rebase(draftOf(began), changed, draftOf(newest))
    if (next.clashes.length > 0) return { kind: 'overtaken', newest, ...next }
    const rest = patchOf(draftOf(newest), next.mine)
    if (Object.keys(rest).length === 0) return { kind: 'saved', agent: newest }
    return { kind: 'merged', agent: await send(newest, rest) }
  }
}

/** Asks whose values stay. */
function Choice(props: {
  readonly overtaken: Overtaken
  readonly overwrite: Pick<UseMutationResult<unknown, Error, void>, 'mutate' | 'error' | 'isPending'>
  readonly takeTheirs: () => void
  readonly close: () => void
}) {
  const t = useTranslations('overtaken')
  const tCommon = useTranslations('common')
  const { time } = useFormat()
  const nameOf = useFieldName()
  const { overtaken, overwrite, takeTheirs, close } = props
  return (
    <Dialog title={t('title')} close={close} size="lg">
      <Text size="sm">{t('text', { time: time(overtaken.newest.updatedAt) })}</Text>
      <div className="wide">
        {overtaken.clashes.map(({ path, before, after }) => (
          <section key={path}>
            <Text size="sm" fw={500}>
              {nameOf(path)} <code>{path}</code>
            </Text>
            <TextDifference before={before ?? ''} after={after ?? ''} />
          </section>
        ))}
      </div>
      {overwrite.error !== null && <Problem error={overwrite.error} />}
      <Group>
        <Button onClick={takeTheirs}>{t('theirs')}</Button>
        <Button variant="default" onClick={() => overwrite.mutate()} loading={overwrite.isPending}>
          {t('mine')}
        </Button>
        <Button variant="default" onClick={close}>
          {tCommon('cancel')}
        </Button>
      </Group>
    </Dialog>
  )
}

function JsonPending() {
  const t = useTranslations('agentVersions')
  return <Alert color="orange">{t('jsonPending')}</Alert>
}
