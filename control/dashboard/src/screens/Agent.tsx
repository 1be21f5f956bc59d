import { Alert, Button, Group, Stack, Tabs, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { UpdateAgentBody } from '../../../../clients/typescript/generated/types.js'
import { Loaded, Page } from '../parts/Page.js'
import { type Issue, issuesOf, Problem } from '../parts/Problem.js'
import { TalkPanel } from '../parts/TalkPanel.js'
import { TestPanel } from '../parts/TestPanel.js'
import { useToast } from '../parts/toast.js'
import { useKey, useSession } from '../session.js'
import { type AgentView, type Draft, draftOf, patchOf, withValue } from './agent/config.js'
import { type Editing, EditingContext } from './agent/fields.js'
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
      title={agent.data?.name ?? ''}
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
  const stored = draftOf(agent)
  // What the changes began with: fields that somebody else changed meanwhile are not sent back.
  const [base, setBase] = useState<Draft | null>(null)
  // Unsaved changes outlive a look at another tab.
  const [edited, setEdited] = useState<Draft | null>(null)
  const [json, setJson] = useState<string | null>(null)
  const [issues, setIssues] = useState<readonly Issue[]>([])
  const draft = edited ?? stored
  const dirty = edited !== null && Object.keys(patchOf(base ?? stored, edited)).length > 0
  const save = useMutation({
    mutationFn: async (changed: object) => {
      const patch = patchOf(base ?? stored, changed)
      return Object.keys(patch).length === 0
        ? agent
        : await api.updateAgent({ id: agent.id, body: patch as UpdateAgentBody })
    },
    onSuccess: (saved) => {
      queries.setQueryData(key('agent', agent.id), saved)
      discard()
      toast(tCommon('saved'))
    },
    onError: (error) => setIssues(issuesOf(error)),
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
      setBase(base ?? stored)
      setEdited((current) => withValue(current ?? stored, path, value))
      setIssues((current) => current.filter((issue) => !issue.path.startsWith(path)))
    },
    errorAt: (path) => issues.find((issue) => issue.path === path)?.reason,
    faulty: issues.map(({ path }) => path),
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate(draft)
  }
  return (
    <Tabs defaultValue="settings" keepMounted={false}>
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
            setBase(base ?? stored)
            setJson(text)
          }}
          discard={discard}
          save={save}
        />
      </Tabs.Panel>
    </Tabs>
  )
}

function JsonPending() {
  const t = useTranslations('agentVersions')
  return <Alert color="orange">{t('jsonPending')}</Alert>
}
