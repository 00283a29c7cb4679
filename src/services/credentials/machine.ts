/** The cloud that a machine belongs to, as its firmware states it: `headgate check` learns without a call whether metadata can answer. */
import { join } from 'node:path'
import { readableText } from '../../core/local-files.ts'

export type Cloud = 'aws' | 'azure' | 'google'

/** Signs in the files of Linux that every user may read, each with the cloud whose machines have it. */
const SIGNS: readonly (readonly [cloud: Cloud, file: string, sign: RegExp])[] = [
  // systemd, src/basic/virt.c (dmi_vendor_table); of instances on Xen cloud-init, tools/ds-identify (ec2_identify_platform).
  ['aws', 'class/dmi/id/sys_vendor', /^Amazon EC2/],
  ['aws', 'hypervisor/uuid', /^ec2/i],
  // cloud-init, tools/ds-identify (is_azure_chassis).
  ['azure', 'class/dmi/id/chassis_asset_tag', /^7783-7084-3265-9085-8269-3286-77/],
  // npm gcp-metadata, src/gcp-residency.ts (isGoogleComputeEngineLinux).
  ['google', 'class/dmi/id/bios_vendor', /Google/],
]

/** @param folder in the place of `/sys`. @returns undefined of a machine that shows no sign. */
export function machineCloud(folder = '/sys'): Cloud | undefined {
  return SIGNS.find(([, file, sign]) => sign.test(readableText(join(folder, file))))?.[0]
}
