import { Button, Group, NativeSelect, PasswordInput, Stack, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { useSession } from '../session.js'
import { Confirm, FormDialog } from './Dialog.js'
import { useFields } from './fields.js'
import { List, useAction, useList } from './List.js'
import { Rows } from './Rows.js'

type Secret = Item<'listSecrets'>
type Connection = Item<'listConnections'>
type Opened =
  | { readonly kind: 'newSecret' | 'newConnection' }
  | { readonly kind: 'replace' | 'deleteSecret'; readonly secret: Secret }
  | { readonly kind: 'editConnection' | 'deleteConnection'; readonly connection: Connection }

/** Credentials of other systems, the hosts that may receive them, and the addresses that tools call with them. */
export function Secrets() {
  const t = useTranslations('secrets')
  const tCommon = useTranslations('common')
  const { api, canWrite } = useSession()
  const { time } = useFormat()
  const [opened, setOpened] = useState<Opened | null>(null)
  const close = (): void => setOpened(null)
  const secrets = useList(['secrets'], (cursor) => api.listSecrets({ query: { cursor } }))
  const connections = useList(['connections'], (cursor) => api.listConnections({ query: { cursor } }))
  const known = secrets.data?.pages.flatMap(({ items }) => items) ?? []
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2} size="h3">
          {t('secrets')}
        </Title>
        {canWrite && <Button onClick={() => setOpened({ kind: 'newSecret' })}>{t('newSecret')}</Button>}
      </Group>
      <List query={secrets} empty={t('noSecrets')}>
        {(items) => (
          <Rows
            label={t('secrets')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: tCommon('name'), cell: ({ name }) => name },
              { title: t('value'), cell: ({ last4 }) => `••••${last4 ?? ''}` },
              { title: t('hosts'), cell: ({ hosts }) => hosts.join(', ') },
              { title: t('uses'), align: 'right', cell: ({ usedBy }) => usedBy.length },
              { title: t('changed'), cell: ({ updatedAt }) => time(updatedAt) },
              {
                title: '',
                align: 'right',
                cell: (secret) =>
                  canWrite && (
                    <Group gap="xs" justify="flex-end" wrap="nowrap">
                      <Button
                        size="xs"
                        variant="default"
                        aria-label={t('replace', { name: secret.name })}
                        onClick={() => setOpened({ kind: 'replace', secret })}
                      >
                        {tCommon('edit')}
                      </Button>
                      <Button
                        size="xs"
                        variant="default"
                        onClick={() => setOpened({ kind: 'deleteSecret', secret })}
                      >
                        {tCommon('delete')}
                      </Button>
                    </Group>
                  ),
              },
            ]}
          />
        )}
      </List>
      <Group justify="space-between">
        <Title order={2} size="h3">
          {t('connections')}
        </Title>
        {canWrite && (
          <Button onClick={() => setOpened({ kind: 'newConnection' })}>{t('newConnection')}</Button>
        )}
      </Group>
      <List query={connections} empty={t('noConnections')}>
        {(items) => (
          <Rows
            label={t('connections')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: tCommon('name'), cell: ({ name }) => name },
              { title: t('baseUrl'), cell: ({ baseUrl }) => baseUrl },
              {
                title: t('secret'),
                cell: ({ secretId }) => known.find(({ id }) => id === secretId)?.name ?? secretId,
              },
              {
                title: '',
                align: 'right',
                cell: (connection) =>
                  canWrite && (
                    <Group gap="xs" justify="flex-end" wrap="nowrap">
                      <Button
                        size="xs"
                        variant="default"
                        aria-label={t('replace', { name: connection.name })}
                        onClick={() => setOpened({ kind: 'editConnection', connection })}
                      >
                        {tCommon('edit')}
                      </Button>
                      <Button
                        size="xs"
                        variant="default"
                        onClick={() => setOpened({ kind: 'deleteConnection', connection })}
                      >
                        {tCommon('delete')}
                      </Button>
                    </Group>
                  ),
              },
            ]}
          />
        )}
      </List>
      {opened?.kind === 'newSecret' && <NewSecret close={close} />}
      {opened?.kind === 'newConnection' && <EditConnection connection={null} secrets={known} close={close} />}
      {opened?.kind === 'editConnection' && (
        <EditConnection connection={opened.connection} secrets={known} close={close} />
      )}
      {opened?.kind === 'replace' && <Replace secret={opened.secret} close={close} />}
      {opened?.kind === 'deleteSecret' && (
        <Delete
          name={opened.secret.name}
          run={() => api.deleteSecret({ id: opened.secret.id })}
          close={close}
        />
      )}
      {opened?.kind === 'deleteConnection' && (
        <Delete
          name={opened.connection.name}
          run={() => api.deleteConnection({ id: opened.connection.id })}
          close={close}
        />
      )}
    </Stack>
  )
}

const hostsOf = (text: string): string[] => text.split(/[\s,]+/).filter((host) => host !== '')

function NewSecret({ close }: { readonly close: () => void }) {
  const t = useTranslations('secrets')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const form = useFields({ name: '', value: '', hosts: '' })
  const { name, value, hosts } = form.values
  const create = useAction(() => api.createSecret({ body: { name, value, hosts: hostsOf(hosts) } }), close)
  return (
    <FormDialog title={t('newSecret')} close={close} action={create} submit={tCommon('create')}>
      <TextInput label={tCommon('name')} required maxLength={80} data-autofocus {...form.text('name')} />
      <PasswordInput label={t('value')} required autoComplete="off" {...form.text('value')} />
      <TextInput label={t('hosts')} description={t('hostsHelp')} required {...form.text('hosts')} />
    </FormDialog>
  )
}

function Replace({ secret, close }: { readonly secret: Secret; readonly close: () => void }) {
  const t = useTranslations('secrets')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const form = useFields({ value: '', hosts: secret.hosts.join(', ') })
  const { value, hosts } = form.values
  const body = { hosts: hostsOf(hosts), ...(value === '' ? {} : { value }) }
  const replace = useAction(() => api.replaceSecret({ id: secret.id, body }), close)
  return (
    <FormDialog
      title={t('replace', { name: secret.name })}
      close={close}
      action={replace}
      submit={tCommon('save')}
    >
      <PasswordInput
        label={t('value')}
        description={t('keepValue')}
        autoComplete="off"
        {...form.text('value')}
      />
      <TextInput label={t('hosts')} description={t('hostsHelp')} required {...form.text('hosts')} />
    </FormDialog>
  )
}

/** Creates a connection, or changes one. */
function EditConnection(props: {
  readonly connection: Connection | null
  readonly secrets: readonly Secret[]
  readonly close: () => void
}) {
  const t = useTranslations('secrets')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const { connection } = props
  const form = useFields({
    name: connection?.name ?? '',
    baseUrl: connection?.baseUrl ?? 'https://',
    secretId: connection?.secretId ?? '',
  })
  const { name, baseUrl, secretId } = form.values
  const body = { name, baseUrl, secretId: secretId === '' ? null : secretId }
  const save = useAction<unknown>(
    () =>
      connection === null
        ? api.createConnection({ body })
        : api.updateConnection({ id: connection.id, body }),
    props.close,
  )
  return (
    <FormDialog
      title={connection === null ? t('newConnection') : t('replace', { name: connection.name })}
      close={props.close}
      action={save}
      submit={connection === null ? tCommon('create') : tCommon('save')}
    >
      <TextInput label={tCommon('name')} required maxLength={80} data-autofocus {...form.text('name')} />
      <TextInput label={t('baseUrl')} type="url" required {...form.text('baseUrl')} />
      <NativeSelect
        label={t('secret')}
        data={[
          { value: '', label: tCommon('none') },
          ...props.secrets.map(({ id, name: label }) => ({ value: id, label })),
        ]}
        {...form.text('secretId')}
      />
    </FormDialog>
  )
}

function Delete(props: {
  readonly name: string
  readonly run: () => Promise<unknown>
  readonly close: () => void
}) {
  const t = useTranslations('secrets')
  const tCommon = useTranslations('common')
  const remove = useAction(props.run, props.close)
  return (
    <Confirm
      title={t('deleteTitle', { name: props.name })}
      text={t('deleteText')}
      label={tCommon('delete')}
      action={remove}
      close={props.close}
    />
  )
}
