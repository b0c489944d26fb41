//! Compares the layout of the structures with the headers of libfabric, where these and a C compiler are installed.

use std::mem::offset_of;
use std::process::Command;

use super::abi::*;

/// Fields in C, with their offsets in Rust; and numbers.
macro_rules! fields {
    ($($rust:ident $c:literal { $($field:ident $named:literal)+ })+) => {
        vec![$($((format!("offsetof(struct {}, {})", $c, $named), offset_of!($rust, $field) as u64)),+),+]
    };
}

macro_rules! numbers {
    ($($name:ident)+) => { [$((concat!("(uint64_t) ", stringify!($name)).to_owned(), $name as u64)),+] };
}

fn expected() -> Vec<(String, u64)> {
    let mut all = fields! {
        FiInfo "fi_info" {
            next "next" caps "caps" mode "mode" addr_format "addr_format" src_addrlen "src_addrlen" tx_attr "tx_attr" rx_attr "rx_attr"
            ep_attr "ep_attr" domain_attr "domain_attr" fabric_attr "fabric_attr"
        }
        FiTxAttr "fi_tx_attr" { msg_order "msg_order" inject_size "inject_size" size "size" }
        FiRxAttr "fi_rx_attr" { msg_order "msg_order" size "size" }
        FiEpAttr "fi_ep_attr" { kind "type" max_msg_size "max_msg_size" }
        FiDomainAttr "fi_domain_attr" {
            name "name" threading "threading" data_progress "data_progress" resource_mgmt "resource_mgmt" av_type "av_type"
            mr_mode "mr_mode" mr_key_size "mr_key_size" cq_data_size "cq_data_size"
        }
        FiFabricAttr "fi_fabric_attr" { name "name" prov_name "prov_name" }
        Fid "fid" { ops "ops" }
        FiOps "fi_ops" { close "close" bind "bind" control "control" }
        FidFabric "fid_fabric" { ops "ops" }
        FabricOps "fi_ops_fabric" { domain "domain" trywait "trywait" }
        FidDomain "fid_domain" { ops "ops" mr "mr" }
        DomainOps "fi_ops_domain" { av_open "av_open" cq_open "cq_open" endpoint "endpoint" }
        MrOps "fi_ops_mr" { reg "reg" regattr "regattr" }
        FiMrAttr "fi_mr_attr" {
            dmabuf "mr_iov" iov_count "iov_count" access "access" offset "offset" requested_key "requested_key" context "context"
            auth_key_size "auth_key_size" auth_key "auth_key" iface "iface" device "device"
        }
        FidMr "fid_mr" { mem_desc "mem_desc" key "key" }
        FiAvAttr "fi_av_attr" { kind "type" count "count" name "name" flags "flags" }
        FidAv "fid_av" { ops "ops" }
        AvOps "fi_ops_av" { insert "insert" }
        FiCqAttr "fi_cq_attr" { size "size" format "format" wait_obj "wait_obj" wait_cond "wait_cond" wait_set "wait_set" }
        FidCq "fid_cq" { ops "ops" }
        CqOps "fi_ops_cq" { read "read" readerr "readerr" }
        FiCqDataEntry "fi_cq_data_entry" { op_context "op_context" flags "flags" len "len" buf "buf" data "data" }
        FiCqErrEntry "fi_cq_err_entry" { op_context "op_context" err "err" prov_errno "prov_errno" err_data_size "err_data_size" }
        FidEp "fid_ep" { cm "cm" msg "msg" rma "rma" }
        CmOps "fi_ops_cm" { getname "getname" }
        MsgOps "fi_ops_msg" { recv "recv" send "send" }
        RmaOps "fi_ops_rma" { read "read" writemsg "writemsg" }
        FiRmaIov "fi_rma_iov" { addr "addr" len "len" key "key" }
        FiMsgRma "fi_msg_rma" {
            msg_iov "msg_iov" desc "desc" iov_count "iov_count" addr "addr" rma_iov "rma_iov" rma_iov_count "rma_iov_count"
            context "context" data "data"
        }
    };
    all.extend(numbers! {
        FI_MSG FI_RMA FI_READ FI_WRITE FI_RECV FI_SEND FI_REMOTE_READ FI_REMOTE_WRITE FI_REMOTE_CQ_DATA FI_COMPLETION
        FI_DELIVERY_COMPLETE FI_CONTEXT FI_CONTEXT2 FI_MR_LOCAL FI_MR_VIRT_ADDR FI_MR_ALLOCATED FI_MR_PROV_KEY FI_MR_ENDPOINT
        FI_ORDER_SAS FI_EP_RDM FI_PROGRESS_MANUAL FI_THREAD_DOMAIN FI_RM_ENABLED FI_WAIT_NONE FI_WAIT_FD FI_CQ_FORMAT_DATA
        FI_ADDR_STR FI_GETWAIT FI_ENABLE FI_EAVAIL FI_HMEM FI_MR_HMEM FI_HMEM_CUDA FI_HMEM_ROCR
    });
    all.push(("sizeof(struct fi_context2)".into(), size_of::<FiContext>() as u64));
    all.push(("sizeof(struct fi_cq_data_entry)".into(), size_of::<FiCqDataEntry>() as u64));
    all.push(("FI_ADDR_UNSPEC".into(), ADDRESS_UNSPECIFIED));
    all
}

/// Fields and numbers that headers before 1.20 lack.
fn expected_of_newer_headers() -> Vec<(String, u64)> {
    let mut all = fields! { FiMrDmaBuf "fi_mr_dmabuf" { fd "fd" offset "offset" len "len" base_addr "base_addr" } };
    all.extend(numbers! { FI_MR_DMABUF });
    all.push(("offsetof(struct fi_mr_attr, dmabuf)".into(), offset_of!(FiMrAttr, dmabuf) as u64));
    all
}

#[test]
fn structures_lie_as_in_the_headers() {
    let folder = std::env::temp_dir().join(format!("pelago-ofi-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("layout.c"), folder.join("layout"));
    let expected = expected();
    let lines = |expected: &[(String, u64)]| expected.iter().map(|(what, _)| format!("P({what});\n")).collect::<String>();
    let newer = expected_of_newer_headers();
    let lines = lines(&expected) + "#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 20\n" + &lines(&newer) + "#endif\n";
    let text = format!(
        "#include <inttypes.h>\n#include <stddef.h>\n#include <stdio.h>\n#include <rdma/fabric.h>\n#include <rdma/fi_cm.h>\n\
         #include <rdma/fi_domain.h>\n#include <rdma/fi_endpoint.h>\n#include <rdma/fi_eq.h>\n#include <rdma/fi_rma.h>\n\
         #include <rdma/fi_errno.h>\n#define P(x) printf(\"%\" PRIu64 \"\\n\", (uint64_t) (x))\nint main(void) {{\n{lines}}}\n"
    );
    std::fs::write(&source, text).unwrap();
    let header = Command::new("cc").args(["-include", "rdma/fabric.h", "-E", "-x", "c", "/dev/null", "-o", "/dev/null"]).output();
    let has_header = header.is_ok_and(|output| output.status.success());
    let built = has_header.then(|| Command::new("cc").arg("-o").args([&program, &source]).output().unwrap());
    let offsets = built.map(|built| {
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap()
    });
    std::fs::remove_dir_all(&folder).unwrap();
    let Some(offsets) = offsets else {
        return eprintln!("skipped: no C compiler, or no headers of libfabric (package libfabric-dev of Debian)");
    };
    let found: Vec<u64> = offsets.lines().map(|line| line.parse().unwrap()).collect();
    let sizes = [expected.len(), expected.len() + newer.len()];
    assert!(sizes.contains(&found.len()));
    for ((what, expected), found) in expected.into_iter().chain(newer).zip(found) {
        assert_eq!(found, expected, "{what}");
    }
}
