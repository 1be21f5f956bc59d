import {
  Alert,
  Button,
  Code,
  CopyButton,
  Group,
  MultiSelect,
  Stack,
  Tabs,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { EVENT_TYPES, type EventType } from '../../../../clients/typescript/generated/event-types.js'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { Deliveries } from '../parts/Deliveries.js'
import { Confirm, Dialog, FormDialog, Once } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { SNIPPETS } from '../parts/signature-snippets.js'
import { Word } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

type Endpoint = Item<'listWebhooks'>
type Asked =
  | { readonly what: 'edit' | 'secret' | 'remove'; readonly endpoint: Endpoint }
  | { readonly what: 'new' }

/** Lists the endpoints that the service reports events to, and all that can be done with one. */
export function Webhooks() {
  const t = useTranslations('webhooks')
  const tView = useTranslations('webhookView')
  const tCommon = useTranslations('common')
  const { api, canManage } = useSession()
  const [asked, setAsked] = useState<Asked | null>(null)
  const close = (): void => setAsked(null)
  const webhooks = useList(['webhooks'], (cursor) => api.listWebhooks({ query: { cursor } }))
  const urls = new Map(
    webhooks.data?.pages.flatMap(({ items }) => items.map(({ id, url }) => [id, url] as const)),
  )
  const test = useMutation({ mutationFn: (id: string) => api.testWebhook({ id }) })
  const turn = useAction(({ id, enabled }: Endpoint) =>
    api.updateWebhook({ id, body: { enabled: !enabled } }),
  )
  return (
    <Page
      title={t('title')}
      actions={canManage && <Button onClick={() => setAsked({ what: 'new' })}>{t('new')}</Button>}
    >
      {!canManage && <Text size="sm">{tView('readOnly')}</Text>}
      {test.error !== null && <Problem error={test.error} />}
      {turn.error !== null && <Problem error={turn.error} />}
      {test.data !== undefined && (
        <Alert role="status" color={test.data.ok ? 'green' : 'red'}>
          {test.data.status === null
            ? t('testFailed')
            : t('tested', { status: test.data.status, ms: test.data.durationMs })}
        </Alert>
      )}
      <List query={webhooks} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              {
                title: t('url'),
                cell: ({ url, description }) => (
                  <>
                    <span className="breaks">{url}</span>
                    {description !== null && <Text size="xs">{description}</Text>}
                  </>
                ),
              },
              { title: t('events'), cell: ({ events }) => events.join(', ') },
              {
                title: tCommon('status'),
                cell: ({ enabled, disabledReason, consecutiveFailures }) => (
                  <>
                    <Word color={enabled ? 'green' : 'red'}>{enabled ? t('on') : t('off')}</Word>
                    {consecutiveFailures > 0 && (
                      <Text size="xs">{t('failures', { count: consecutiveFailures })}</Text>
                    )}
                    {disabledReason !== null && <Text size="xs">{tView('disabledByService')}</Text>}
                  </>
                ),
              },
              {
                title: tCommon('actions'),
                cell: (endpoint) =>
                  canManage && (
                    <Group gap="xs">
                      <Button
                        size="xs"
                        variant={endpoint.enabled ? 'default' : 'filled'}
                        onClick={() => turn.mutate(endpoint)}
                        loading={turn.isPending && turn.variables.id === endpoint.id}
                      >
                        {endpoint.enabled ? tView('disable') : tView('enable')}
                      </Button>
                      <Button
                        size="xs"
                        variant="default"
                        onClick={() => test.mutate(endpoint.id)}
                        loading={test.isPending && test.variables === endpoint.id}
                      >
                        {t('test')}
                      </Button>
                      {(['edit', 'secret', 'remove'] as const).map((what) => (
                        <Button
                          key={what}
                          size="xs"
                          variant="default"
                          aria-label={tView(`${what}Of`, { url: endpoint.url })}
                          onClick={() => setAsked({ what, endpoint })}
                        >
                          {tView(what)}
                        </Button>
                      ))}
                    </Group>
                  ),
              },
            ]}
          />
        )}
      </List>
      {urls.size > 0 && <Deliveries urls={urls} />}
      <Verify />
      {asked?.what === 'new' && <NewWebhook close={close} />}
      {asked?.what === 'edit' && <EditWebhook endpoint={asked.endpoint} close={close} />}
      {asked?.what === 'secret' && <Secret endpoint={asked.endpoint} close={close} />}
      {asked?.what === 'remove' && <Remove endpoint={asked.endpoint} close={close} />}
    </Page>
  )
}

function EventsInput({
  value,
  change,
}: {
  readonly value: readonly string[]
  readonly change: (value: string[]) => void
}) {
  const t = useTranslations('webhooks')
  return (
    <MultiSelect
      label={t('events')}
      data={[...EVENT_TYPES]}
      value={[...value]}
      onChange={change}
      searchable
    />
  )
}

function NewWebhook({ close }: { readonly close: () => void }) {
  const t = useTranslations('webhooks')
  const tCommon = useTranslations('common')
  const tForm = useTranslations('agentForm')
  const { api } = useSession()
  const form = useFields({ url: 'https://', description: '' })
  const [events, setEvents] = useState<readonly string[]>(['call.completed'])
  const { url, description } = form.values
  const create = useAction(() =>
    api.createWebhook({
      body: {
        url,
        events: events as readonly EventType[],
        ...(description === '' ? {} : { description }),
      },
    }),
  )
  if (create.data !== undefined) {
    return (
      <Dialog title={t('new')} close={close} size="lg">
        <Once text={t('once')} secrets={[[t('secret'), create.data.secret]]} />
      </Dialog>
    )
  }
  return (
    <FormDialog
      title={t('new')}
      close={close}
      size="lg"
      action={create}
      submit={tCommon('create')}
      disabled={events.length === 0}
    >
      <TextInput label={t('url')} type="url" required data-autofocus {...form.text('url')} />
      <TextInput label={tForm('description')} maxLength={200} {...form.text('description')} />
      <EventsInput value={events} change={setEvents} />
    </FormDialog>
  )
}

interface Of {
  readonly endpoint: Endpoint
  readonly close: () => void
}

function EditWebhook({ endpoint, close }: Of) {
  const t = useTranslations('webhooks')
  const tView = useTranslations('webhookView')
  const tCommon = useTranslations('common')
  const tForm = useTranslations('agentForm')
  const { api } = useSession()
  const form = useFields({ url: endpoint.url, description: endpoint.description ?? '' })
  const [events, setEvents] = useState<readonly string[]>(endpoint.events)
  const { url, description } = form.values
  const save = useAction(
    () =>
      api.updateWebhook({
        id: endpoint.id,
        body: {
          url,
          events: events as readonly EventType[],
          description: description === '' ? null : description,
        },
      }),
    close,
  )
  return (
    <FormDialog
      title={tView('edit')}
      close={close}
      size="lg"
      action={save}
      submit={tCommon('save')}
      disabled={events.length === 0}
    >
      <TextInput label={t('url')} type="url" required {...form.text('url')} />
      <TextInput label={tForm('description')} maxLength={200} {...form.text('description')} />
      <EventsInput value={events} change={setEvents} />
    </FormDialog>
  )
}

/** Shows the signing secret, and replaces it. */
function Secret({ endpoint, close }: Of) {
  const t = useTranslations('webhooks')
  const tView = useTranslations('webhookView')
  const { api } = useSession()
  const { time } = useFormat()
  const key = useKey()
  const secret = useQuery({
    queryKey: key('webhooks', endpoint.id, 'secret'),
    queryFn: () => api.readWebhookSecret({ id: endpoint.id }),
    // A secret is not kept longer than it is shown.
    gcTime: 0,
  })
  const roll = useAction(() => api.rollWebhookSecret({ id: endpoint.id }))
  return (
    <Dialog title={t('secret')} close={close} size="lg">
      <Loaded query={secret}>
        {(current) => (
          <Stack>
            <Once text={t('once')} secrets={[[t('secret'), roll.data?.secret ?? current.secret]]} />
            {roll.error !== null && <Problem error={roll.error} />}
            {roll.data === undefined ? (
              <>
                <Text size="sm">{tView('rollText')}</Text>
                <Group>
                  <Button color="red.9" onClick={() => roll.mutate()} loading={roll.isPending}>
                    {tView('roll')}
                  </Button>
                </Group>
              </>
            ) : (
              <Alert role="status" color="green">
                {tView('rolled', { time: time(roll.data.previousValidUntil) })}
              </Alert>
            )}
          </Stack>
        )}
      </Loaded>
    </Dialog>
  )
}

function Remove({ endpoint, close }: Of) {
  const tView = useTranslations('webhookView')
  const { api } = useSession()
  const remove = useAction(() => api.deleteWebhook({ id: endpoint.id }), close)
  return (
    <Confirm
      title={tView('removeTitle')}
      text={tView('removeText', { url: endpoint.url })}
      label={tView('remove')}
      action={remove}
      close={close}
    />
  )
}

const LANGUAGES = Object.keys(SNIPPETS) as readonly (keyof typeof SNIPPETS)[]

/** Programs that check the signature of a delivery. */
function Verify() {
  const tView = useTranslations('webhookView')
  const tCommon = useTranslations('common')
  return (
    <Stack component="section" aria-label={tView('verify')}>
      <Title order={2} size="h3">
        {tView('verify')}
      </Title>
      <Text size="sm">{tView('verifyText')}</Text>
      <Tabs defaultValue={LANGUAGES[0] ?? null} keepMounted={false}>
        <Tabs.List>
          {LANGUAGES.map((language) => (
            <Tabs.Tab key={language} value={language}>
              {language}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {LANGUAGES.map((language) => (
          <Tabs.Panel key={language} value={language} pt="sm">
            <Stack gap="xs" align="flex-start">
              <Code block tabIndex={0} className="wide snippet">
                {SNIPPETS[language]}
              </Code>
              {'clipboard' in navigator && (
                <CopyButton value={SNIPPETS[language]}>
                  {({ copied, copy }) => (
                    <Button size="xs" variant="default" onClick={copy}>
                      {copied ? tCommon('copied') : tCommon('copy')}
                    </Button>
                  )}
                </CopyButton>
              )}
            </Stack>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  )
}
