-- One row per GPU model and precision: the vendor's dense peak FLOP/s, without sparsity. `fp32` is without NVIDIA's
-- tensor cores, as fp32 training is here; AMD's matrix cores compute in fp32 and are included. `tf32`, `bf16` and `fp16`
-- use tensor or matrix cores and accumulate in fp32. If a data sheet gives a figure only with sparsity, half of it is
-- used; of the RTX 6000 Ada, which has only that of FP8, a quarter for 16 bits and an eighth for TF32. A sheet of a
-- board with several devices is divided by their number: an MI250X shows as two. A part of an NVIDIA GPU (MIG) has
-- another name, and no row; a partition of an AMD GPU has the name of the whole GPU and too high a peak.
CREATE TABLE device_peaks (
    device_pattern VARCHAR,        -- regular expression that matches the whole device name from CUDA or HIP
    precision VARCHAR,             -- fp32, tf32, bf16, fp16
    peak_flops_per_s DOUBLE,       -- dense peak, without sparsity
    source VARCHAR                 -- where the figure comes from
);
INSERT INTO device_peaks
WITH tflops(device_pattern, fp32, tf32, bf16, fp16, source) AS (
    VALUES
    ('NVIDIA GB300', 80, 1250, 2500, 2500,
        'https://resources.nvidia.com/en-us-blackwell-architecture/blackwell-ultra-datasheet'),
    ('NVIDIA B300( SXM6 AC)?', 75, 1100, 2250, 2250,
        'https://resources.nvidia.com/en-us-blackwell-architecture/blackwell-ultra-datasheet'),
    ('NVIDIA GB200', 80, 1250, 2500, 2500, 'https://nvdam.widen.net/s/wwnsxrhm2w/blackwell-datasheet-3384703'),
    ('NVIDIA B200', 75, 1100, 2250, 2250, 'https://nvdam.widen.net/s/wwnsxrhm2w/blackwell-datasheet-3384703'),
    ('NVIDIA GH200 (120GB|480GB|144G HBM3e)', 67, 494.5, 989.5, 989.5,
        'https://nvdam.widen.net/content/tf2prbffgy/original/grace-hopper-superchip-datasheet-nvidia-2705455.pdf'),
    ('NVIDIA H200', 66.9, 494.7, 989.4, 989.4, 'https://glennklockwood.com/garden/processors/h100'),
    ('NVIDIA H200 NVL', 60, 417.5, 835.5, 835.5,
        'https://nvdam.widen.net/s/nb5zzzsjdf/hpc-datasheet-sc23-h200-datasheet-3002446'),
    ('NVIDIA H100( SXM5?)?( 80GB)?( HBM3)?', 66.9, 494.7, 989.4, 989.4,
        'https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet'),
    ('NVIDIA H100 NVL', 60, 417.5, 835.5, 835.5,
        'https://www.pny.com/file%20library/company/support/product%20brochures/nvidia%20data%20center%20gpus/english/h100-nvl-datasheet.pdf'),
    ('NVIDIA H100 PCIe', 51.2, 378, 756.5, 756.5,
        'https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet'),
    ('NVIDIA H20', 44, 74, 148, 148,
        'https://www.tomshardware.com/pc-components/gpus/new-nvidia-ai-gpus-designed-to-get-around-us-export-bans-come-to-china-h20-l20-and-l2-to-fill-void-left-by-restricted-models'),
    ('(NVIDIA )?A100-(SXM4?-(40|80)|PCIE-40)GB|NVIDIA A100 80GB PCIe', 19.5, 156, 312, 312,
        'https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf'),
    ('NVIDIA A40', 37.4, 74.8, 149.7, 149.7,
        'https://images.nvidia.com/content/Solutions/data-center/a40/nvidia-a40-datasheet.pdf'),
    ('NVIDIA A30', NULL, NULL, 165, 165,
        'https://www.nvidia.com/content/dam/en-zz/Solutions/data-center/products/a30-gpu/pdf/a30-datasheet.pdf'),
    ('NVIDIA A10G', 35, 35, 70, 70,
        'https://d1.awsstatic.com/product-marketing/ec2/NVIDIA_AWS_A10G_DataSheet_FINAL_02_17_2022.pdf'),
    ('NVIDIA A10', 31.2, 62.5, 125, 125,
        'https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a10/pdf/a10-datasheet.pdf'),
    ('NVIDIA L40S', 91.6, 183, 362, 362, 'https://www.nvidia.com/en-us/data-center/l40s/'),
    ('NVIDIA L40', 90.5, 90.5, 181, 181,
        'https://images.nvidia.com/aem-dam/Solutions/Data-Center/l4/nvidia-ada-gpu-architecture-whitepaper-v2.1.pdf'),
    ('NVIDIA L4', 30.3, 60, 121, 121, 'https://www.nvidia.com/en-us/data-center/l4/'),
    ('NVIDIA RTX A6000', 38.7, 77.4, 154.8, 154.8,
        'https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf'),
    ('NVIDIA RTX 6000 Ada Generation', 91.1, 182.1, 364.2, 364.2,
        'https://www.nvidia.com/content/dam/en-zz/Solutions/design-visualization/rtx-6000/proviz-print-rtx6000-datasheet-web-2504660.pdf'),
    ('NVIDIA GeForce RTX 3090', 35.6, 35.6, 71, 71,
        'https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf'),
    ('NVIDIA GeForce RTX 4090', 82.6, 82.6, 165.2, 165.2,
        'https://images.nvidia.com/aem-dam/Solutions/Data-Center/l4/nvidia-ada-gpu-architecture-whitepaper-v2.1.pdf'),
    ('NVIDIA GeForce RTX 5090', 104.8, 104.8, 209.5, 209.5,
        'https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf'),
    ('(Tesla|NVIDIA) V100-SXM[23]-.*GB', 15.7, NULL, NULL, 125,
        'https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf'),
    ('(Tesla|NVIDIA) V100-PCIE-.*GB', 14, NULL, NULL, 112,
        'https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf'),
    ('(Tesla|NVIDIA) V100S-PCIE-.*GB', 16.4, NULL, NULL, 130,
        'https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf'),
    ('(Tesla|NVIDIA) T4', 8.1, NULL, NULL, 65,
        'https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/tesla-t4/t4-tensor-core-datasheet-951643.pdf'),
    ('AMD Instinct MI250X', 47.85, NULL, 191.5, 191.5,
        'https://www.amd.com/system/files/documents/amd-instinct-mi200-datasheet.pdf'),
    ('AMD Instinct MI300X', 163.4, 653.7, 1307.4, 1307.4,
        'https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/amd-instinct-mi300x-data-sheet.pdf'),
    ('AMD Instinct MI325X', 163.4, 653.7, 1307.4, 1307.4,
        'https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/product-briefs/instinct-mi325x-datasheet.pdf'),
    ('AMD Instinct MI355X', 157.3, NULL, 2516.6, 2516.6,
        'https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/product-briefs/amd-instinct-mi355x-gpu-brochure.pdf')
),
each_precision AS (
    UNPIVOT tflops ON fp32, tf32, bf16, fp16 INTO NAME precision VALUE tflops_per_s
)
SELECT device_pattern, precision, round(tflops_per_s * 1e12), source FROM each_precision;
